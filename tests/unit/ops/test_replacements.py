"""A release says what it replaces before it is deployed."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ops.replacements import replacements
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
