"""The project's template as CloudFormation gets it, with lookups for tests."""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from headrace.core.stream import Stream
from headrace.stage.chosen import FEATURES
from headrace.stage.registry import STREAMS
from localstage.template.document import parse
from localstage.template.translate import translate

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "template.yaml"
CONDITIONS = {f"Has{each.name.capitalize()}" for each in FEATURES if each.functions}
CLIENT_STREAMS = [one for one in STREAMS.values() if one.incoming]
"""The streams that clients send to. Each has a table and a group of persist queues; declared streams share theirs."""
QUEUE_PARAMETERS = {name: f"{name.capitalize()}Queues" for name in (*(one.name for one in CLIENT_STREAMS), "declared")}
"""The parameter with the number of persist queues of each group."""

_LOGS = ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"]
_INTERFACES = [
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSubnets",
    "ec2:UnassignPrivateIpAddresses",
]
# What AWS's managed policies allow, on every resource. SAM attaches them to the roles that it makes.
_MANAGED = {"AWSLambdaBasicExecutionRole": _LOGS, "AWSLambdaVPCAccessExecutionRole": _LOGS + _INTERFACES}


class Permission(NamedTuple):
    """One action that a role allows; ``resource`` and ``condition`` as JSON."""

    action: str
    resource: str
    condition: str


class TemplateStack:
    """Resources by logical id of a stage with all features, after AWS's own translation; also those of nested stacks.

    Of nested stacks, there are alarms and mappings.
    """

    def __init__(self, state_dir: Path, **overrides: str) -> None:
        self.document = translate(TEMPLATE, overrides, "us-east-1", state_dir).document
        document = with_features(self.document)
        self.parameters: dict[str, Any] = document["Parameters"]
        self.resources: dict[str, Any] = document["Resources"]
        self.rules: dict[str, Any] = document["Rules"]
        self.conditions: dict[str, Any] = document["Conditions"]
        written = parse(TEMPLATE.read_text(), TEMPLATE)
        self.folders = {
            name: Path(one["Properties"]["CodeUri"]).name
            for name, one in written["Resources"].items()
            if one["Type"] == "AWS::Serverless::Function"
        }
        for stack in ("BrokerMappings", "Changes"):
            given = {
                name: one["Fn::If"][1] if "Fn::If" in one else one  # as if both were on
                for name, one in self.resources[stack]["Properties"]["Parameters"].items()
            }
            path = ROOT / self.resources[stack]["Properties"]["TemplateURL"]
            nested = parse(path.read_text(), path, overrides)
            for name, one in nested["Resources"].items():
                self.resources[name] = _substitute(one, given)
                if "Fn::Select" in (source := self.resources[name]["Properties"]["EventSourceArn"]):
                    (found, (_, arns)) = source["Fn::Select"][0]["Fn::FindInMap"], source["Fn::Select"][1]["Fn::Join"]
                    place = nested["Mappings"][found[0]][found[1]][found[2]]
                    self.resources[name]["Properties"]["EventSourceArn"] = arns[int(place)]
        path = ROOT / self.resources["Monitoring"]["Properties"]["TemplateURL"]
        self.monitoring: dict[str, Any] = parse(path.read_text(), path)
        path = ROOT / self.resources["BrokerAlarms"]["Properties"]["TemplateURL"]
        self.broker_alarms: dict[str, Any] = parse(path.read_text(), path)
        self.alarms: dict[str, Any] = self.of_type("AWS::CloudWatch::Alarm")
        for stack, nested in (("Monitoring", self.monitoring), ("BrokerAlarms", self.broker_alarms)):
            given = self.resources[stack]["Properties"]["Parameters"]
            self.alarms |= {name: _substitute(one["Properties"], given) for name, one in nested["Resources"].items()}

    def of_type(self, type_: str) -> dict[str, Any]:
        """Properties of every resource of this type."""
        return {name: one.get("Properties", {}) for name, one in self.resources.items() if one["Type"] == type_}

    def value_of(self, function: str, variable: str) -> Any:
        """The value of an environment variable of a function."""
        return self.resources[function]["Properties"]["Environment"]["Variables"][variable]

    def table_of(self, stream: Stream) -> str:
        """The logical id of the table that the rows of a stream are stored in."""
        return str(self.value_of("PersistEvents", stream.table_setting)["Ref"])

    def reserved(self, function: str) -> Any:
        """The environments that a function reserves, unless ReserveConcurrency is false."""
        condition, number, otherwise = self.resources[function]["Properties"]["ReservedConcurrentExecutions"]["Fn::If"]
        assert (condition, otherwise) == ("ReservesConcurrency", {"Ref": "AWS::NoValue"})
        return number

    def role_of(self, function: str) -> str:
        """The logical id of a function's role."""
        return str(self.resources[function]["Properties"]["Role"]["Fn::GetAtt"][0])

    def statements(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every policy statement that allows something, with the logical id of its resource."""
        for name in self.of_type("AWS::IAM::Role"):
            yield from ((name, one) for one in self._inline(name) if one["Effect"] == "Allow")
        for type_ in ("AWS::IAM::ManagedPolicy", "AWS::IAM::Policy", "AWS::EC2::VPCEndpoint"):
            for name, policy in self.of_type(type_).items():
                yield from ((name, one) for one in policy["PolicyDocument"]["Statement"] if one["Effect"] == "Allow")

    def may(self, action: str, resource: str) -> set[str]:
        """The logical ids with a statement that allows ``action`` on this resource."""
        return {
            name
            for name, one in self.statements()
            if action in as_list(one["Action"]) and f'"{resource}"' in json.dumps(one["Resource"])
        }

    def permissions(self, function: str) -> set[Permission]:
        """What a function's role allows in effect: all its policies, less what they deny without a condition.

        Raises:
            KeyError: a managed policy of AWS whose content this module does not know.
        """
        statements = list(self._all_statements(self.role_of(function)))
        allowed = {
            Permission(action, json.dumps(resource), json.dumps(one.get("Condition"), sort_keys=True))
            for one in statements
            if one["Effect"] == "Allow"
            for action in as_list(one["Action"])
            for resource in as_list(one["Resource"])
        }
        for deny in (one for one in statements if one["Effect"] == "Deny" and "Condition" not in one):
            allowed = {left for one in allowed if (left := _after(deny, one)) is not None}
        return allowed

    def denials(self, function: str) -> list[dict[str, Any]]:
        """The statements of a function's role that deny something under a condition."""
        return [
            one
            for one in self._all_statements(self.role_of(function))
            if one["Effect"] == "Deny" and "Condition" in one
        ]

    def _inline(self, role: str) -> Iterator[dict[str, Any]]:
        for policy in self.resources[role]["Properties"].get("Policies", []):
            yield from policy["PolicyDocument"]["Statement"]
        for policy in self.of_type("AWS::IAM::Policy").values():
            if {"Ref": role} in policy["Roles"]:
                yield from policy["PolicyDocument"]["Statement"]

    def _all_statements(self, role: str) -> Iterator[dict[str, Any]]:
        yield from self._inline(role)
        for arn in self.resources[role]["Properties"].get("ManagedPolicyArns", []):
            if "Fn::If" in arn:
                continue  # for X-Ray, which is off
            if isinstance(arn, dict):
                yield from self.resources[arn["Ref"]]["Properties"]["PolicyDocument"]["Statement"]
            else:
                yield {"Effect": "Allow", "Action": _MANAGED[arn.rpartition("/")[2]], "Resource": "*"}


def with_features(node: Any) -> Any:
    """``node`` of a stage with all features."""
    match node:
        case {"Fn::If": [str(name), then, _]} if name in CONDITIONS:
            return with_features(then)
        case dict():
            return {name: with_features(one) for name, one in node.items()}
        case list():
            return [with_features(one) for one in node]
    return node


def as_list(node: Any) -> list[Any]:
    """A policy writes one value without a list."""
    return node if isinstance(node, list) else [node]


def _after(deny: dict[str, Any], permission: Permission) -> Permission | None:
    """The rest of a permission after an unconditional denial."""
    if not any(fnmatchcase(permission.action, pattern) for pattern in as_list(deny["Action"])):
        return permission
    if "NotResource" not in deny:
        assert deny["Resource"] == "*"
        return None
    spared = json.dumps(deny["NotResource"])
    return permission._replace(resource=spared) if permission.resource in ('"*"', spared) else None


def _substitute(node: Any, values: dict[str, Any]) -> Any:
    """``node`` of a nested template with the values that the stack passes to it."""
    if isinstance(node, dict):
        if len(node) == 1 and node.get("Ref") in values:
            return values[node["Ref"]]
        return {name: _substitute(one, values) for name, one in node.items()}
    return [_substitute(one, values) for one in node] if isinstance(node, list) else node
