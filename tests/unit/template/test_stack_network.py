"""The VPC contains all functions that need no public address, and has no way to the internet."""

import json
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from tests.unit.template_stack import ROOT, TemplateStack, as_list


def test_the_vpc_has_no_way_to_or_from_the_internet(template_stack: TemplateStack) -> None:
    ways = {"AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", "AWS::EC2::Route", "AWS::EC2::EIP"}

    assert not ways & {one["Type"] for one in template_stack.resources.values()}
    assert template_stack.resources["Broker"]["Properties"]["PubliclyAccessible"] is False


def test_only_declare_topology_reaches_the_brokers_management_api(template_stack: TemplateStack) -> None:
    members = {
        name
        for name in template_stack.folders
        if {"Ref": "TopologySecurityGroup"}
        in template_stack.resources[name]["Properties"].get("VpcConfig", {}).get("SecurityGroupIds", [])
    }
    to_broker = [
        (one["SourceSecurityGroupId"]["Ref"], one["FromPort"], one["ToPort"])
        for one in template_stack.of_type("AWS::EC2::SecurityGroupIngress").values()
        if one["GroupId"] == {"Ref": "BrokerSecurityGroup"}
    ]

    assert members == {"DeclareTopology"}
    assert sorted(to_broker) == [
        ("BrokerSecurityGroup", 5671, 5671),
        ("FunctionsSecurityGroup", 5671, 5671),
        ("TopologySecurityGroup", 443, 443),
    ]


def test_answers_to_cloudformation_go_to_its_buckets_alone(template_stack: TemplateStack) -> None:
    """Data could leave the VPC to any other bucket that the policy allows."""
    statement, *_ = template_stack.resources["S3Endpoint"]["Properties"]["PolicyDocument"]["Statement"]
    pattern, values = statement["Resource"]["Fn::Sub"]

    assert statement["Action"] == "s3:PutObject"
    assert pattern == "arn:${AWS::Partition}:s3:::cloudformation-custom-resource-response-${Region}/*"
    assert values == {"Region": {"Fn::Join": ["", {"Fn::Split": ["-", {"Ref": "AWS::Region"}]}]}}


# Lambda itself makes these calls with the function's role, from outside the VPC.
BY_LAMBDA = {"logs:*", "ec2:*", "mq:DescribeBroker", "sqs:DeleteMessage", "sqs:ReceiveMessage"}


def name_of(resource: dict[str, Any]) -> str:
    """``Table`` for its ARN, ``Table/index/ByUser`` for that of its index, ``Secret`` for a reference."""
    ((function, of),) = resource.items()
    named: str = {"Fn::Sub": of, "Fn::GetAtt": of[0], "Ref": of}[function]
    return named.replace("${", "").replace(".Arn}", "")


def endpoint_rights(stack: TemplateStack) -> Iterator[tuple[str, str]]:
    """The actions and resources that the policies of the VPC's endpoints let functions use."""
    for endpoint in stack.of_type("AWS::EC2::VPCEndpoint").values():
        for one in endpoint["PolicyDocument"]["Statement"]:
            if one["Principal"] == "*" and one["Action"] != "s3:PutObject":  # S3 is asked with CloudFormation's rights
                yield from ((act, name_of(res)) for act in as_list(one["Action"]) for res in as_list(one["Resource"]))


def rights_in_the_vpc(stack: TemplateStack) -> Iterator[tuple[str, str, str]]:
    """Each function in the VPC with the actions and resources that its code may use."""
    for function in stack.folders:
        if "VpcConfig" in stack.resources[function]["Properties"]:
            for one in stack.permissions(function):
                if not any(fnmatchcase(one.action, pattern) for pattern in BY_LAMBDA):
                    yield function, one.action, name_of(json.loads(one.resource))


def test_the_endpoints_of_dynamodb_and_s3_allow_nothing_that_no_role_in_the_vpc_has(
    template_stack: TemplateStack,
) -> None:
    """A call from the VPC needs both. The rehearsal shows that the endpoints allow what the roles do."""
    used = {(action, resource) for _, action, resource in rights_in_the_vpc(template_stack)}
    found = set(endpoint_rights(template_stack))

    assert {action for action, _ in found if action.startswith("dynamodb:")} <= {action for action, _ in used}
    assert {(action, name) for action, name in found if action.startswith("s3:")} <= used


READING = {"BatchGetItem", "DescribeTable", "GetItem", "Query", "Scan", "GetQueueAttributes", "ReceiveMessage"}
READING |= {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}
READING |= {"GetObject", "GetObjectTagging", "ListBucket"}
SECRET = "GetSecretValue"
BY_LAMBDA_ALONE = {"logs:*", "ec2:*", "mq:DescribeBroker"}


def doors(stack: TemplateStack) -> list[str]:
    """The rights of each function as rows of two tables: where it is, what it reads and its secrets; what it writes.

    A ``*`` marks what is limited to some rows or attributes.
    """
    reads, writes = [], []
    for function in sorted(stack.folders):
        places: tuple[dict[str, bool], ...] = ({}, {}, {})
        for one in stack.permissions(function):
            act = one.action.partition(":")[2]
            if any(fnmatchcase(one.action, pattern) for pattern in BY_LAMBDA_ALONE):
                continue
            place = places[0 if act in READING else 2 if act == SECRET else 1]
            name = short_name(one.action, json.loads(one.resource))
            place[name] = place.get(name, True) and one.condition != "null"
        cells = [", ".join(name + "*" * limited for name, limited in sorted(place.items())) or "–" for place in places]
        where = "VPC" if "VpcConfig" in stack.resources[function]["Properties"] else "outside"
        reads.append(f"| `{function}` | {where} | {cells[0]} | {cells[2]} |")
        writes.append(f"| `{function}` | {cells[1]} |")
    return [*reads, *writes]


def short_name(action: str, resource: dict[str, Any]) -> str:
    """``Rooms`` for the table or one of its indexes, ``RetryQueue``, ``Cursor`` for a secret, ``WebSocketApi``."""
    if action == "execute-api:ManageConnections":
        return "WebSocketApi"
    return name_of(resource).partition("/")[0].removesuffix("Table").removesuffix("Secret")


def test_the_page_behind_the_threat_model_has_the_rights_of_each_function(template_stack: TemplateStack) -> None:
    text = (ROOT / "docs" / "explanation" / "threat-model-tests.md").read_text()
    written = [line for line in text.splitlines() if line.startswith("| `")]

    assert written == doors(template_stack)
