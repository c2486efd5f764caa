"""A release says what it replaces before it is deployed."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from ops.replacements import OF_EACH_RELEASE, RELEASED, replacements, resources
from tests.unit.template_stack import TemplateStack

TABLE = {"Type": "AWS::DynamoDB::Table", "Properties": {"KeySchema": ["a"], "BillingMode": "PAY_PER_REQUEST"}}
SUBNET = {"Type": "AWS::EC2::Subnet", "Properties": {"CidrBlock": "10.0.0.0/24", "AvailabilityZone": "a"}}
QUEUE = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "retry", "FifoQueue": False}}


def changed(resource: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return {**resource, "Properties": resource["Properties"] | properties}


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (SUBNET, changed(SUBNET, AvailabilityZone="b", CidrBlock="10.0.1.0/24"),
         "Name (AWS::EC2::Subnet) is replaced: AvailabilityZone, CidrBlock changed"),
        (SUBNET, changed(SUBNET, AvailabilityZone="b"),
         "Name (AWS::EC2::Subnet) is replaced: AvailabilityZone changed; "
         "this fails, since CidrBlock stays and the old one still has it"),
        (TABLE, changed(TABLE, KeySchema=["b"]), "Name (AWS::DynamoDB::Table) may be replaced: KeySchema changed"),
        (TABLE, SUBNET, "Name is replaced: AWS::DynamoDB::Table becomes AWS::EC2::Subnet"),
        (QUEUE, changed(QUEUE, QueueName="other"), "Name (AWS::SQS::Queue) is replaced: QueueName changed"),
        (QUEUE, None, "Name (AWS::SQS::Queue) is removed"),
        (TABLE | {"DeletionPolicy": "Retain"}, None, "Name (AWS::DynamoDB::Table) is removed, but kept in the account"),
    ],
    ids=["create-only", "fixed range", "conditional", "type", "name", "removed", "retained"],
)  # fmt: skip
def test_a_change_that_replaces_is_named(old: dict[str, Any], new: dict[str, Any] | None, line: str) -> None:
    assert list(replacements({"Name": old}, {"Name": new} if new else {})) == [line]


def test_other_changes_and_new_resources_are_not_named(template_stack: TemplateStack) -> None:
    new = copy.deepcopy(template_stack.resources) | {"Other": QUEUE}
    new["ReceiveFrame"]["Properties"]["MemorySize"] = 4096
    new["ChatMessagesTable"]["Properties"]["BillingMode"] = "PROVISIONED"

    assert list(replacements(template_stack.resources, new)) == []


def test_an_update_from_the_last_release_replaces_and_removes_nothing() -> None:
    """If it must: name it in the changelog, then renew the list with ``python -m ops.replacements release``."""
    assert list(replacements(json.loads(RELEASED.read_text()), resources())) == []


def test_no_logical_id_depends_on_a_parameter() -> None:
    """CloudFormation would delete the resource and make another one when the parameter changes."""
    others = {"StageName": "prod", "BrokerCount": "2", "Console": "on", "Archive": "on", "Zones": "a,b,c"}

    names = [
        {name for name, one in resources(*values.items()).items() if one["Type"] not in OF_EACH_RELEASE}
        for values in ({}, others)
    ]

    assert names[0] == names[1]


@pytest.mark.parametrize("name", ["ErasureSecret", "WebhookSecret"])
def test_no_update_makes_a_new_key(template_stack: TemplateStack, name: str) -> None:
    """Erased people would be unknown from then on, and receivers would refuse webhooks."""
    secret = template_stack.resources[name]

    assert secret["UpdateReplacePolicy"] == "Retain"
    assert secret["Properties"]["GenerateSecretString"] == {"PasswordLength": 64, "ExcludePunctuation": True}
