"""The project's own template as CloudFormation gets it, with what tests ask it for."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from localstage.template.document import parse
from localstage.template.translate import translate

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "template.yaml"


class TemplateStack:
    """Resources by logical id, after AWS's own translation."""

    def __init__(self, state_dir: Path) -> None:
        document = translate(TEMPLATE, {}, "us-east-1", state_dir).document
        self.parameters: dict[str, Any] = document["Parameters"]
        self.resources: dict[str, Any] = document["Resources"]
        written = parse(TEMPLATE.read_text(), TEMPLATE)["Resources"]
        self.folders = {
            name: Path(one["Properties"]["CodeUri"]).name
            for name, one in written.items()
            if one["Type"] == "AWS::Serverless::Function"
        }

    def of_type(self, type_: str) -> dict[str, Any]:
        """Properties of every resource of this type."""
        return {name: one.get("Properties", {}) for name, one in self.resources.items() if one["Type"] == type_}

    def value(self, node: Any) -> str:
        """A plain value, or the default of the parameter that ``node`` refers to."""
        return str(self.parameters[node["Ref"]]["Default"] if isinstance(node, dict) else node)

    def variables(self, function: str) -> set[str]:
        """The environment variables of a function, without those that all share."""
        declared = self.resources[function]["Properties"]["Environment"]["Variables"]
        return {name for name in declared if not name.startswith(("POWERTOOLS_", "AWS_ENDPOINT_URL_"))}

    def role_of(self, function: str) -> str:
        """The logical id of a function's role."""
        return str(self.resources[function]["Properties"]["Role"]["Fn::GetAtt"][0])

    def statements(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every policy statement that grants something, with the logical id of what carries it."""
        for name, role in self.of_type("AWS::IAM::Role").items():
            for policy in role.get("Policies", []):
                yield from ((name, one) for one in policy["PolicyDocument"]["Statement"] if one["Effect"] == "Allow")
        for type_ in ("AWS::IAM::ManagedPolicy", "AWS::EC2::VPCEndpoint"):
            for name, policy in self.of_type(type_).items():
                yield from ((name, one) for one in policy["PolicyDocument"]["Statement"] if one["Effect"] == "Allow")

    def may(self, action: str, resource: str) -> set[str]:
        """What carries a statement that allows ``action`` on the resource with this logical id."""
        return {
            name
            for name, one in self.statements()
            if action in as_list(one["Action"]) and f'"{resource}"' in json.dumps(one["Resource"])
        }


def as_list(node: Any) -> list[Any]:
    """A policy writes one value without a list."""
    return node if isinstance(node, list) else [node]
