"""A stack is deleted with all that protects it, against moto; `make rehearse` deletes whole stages in this way."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from click.testing import CliRunner

from ops import destroy
from ops.__main__ import cli
from tests.contract.ops.conftest import listed

ROOM = {
    "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "roomId", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "roomId", "KeyType": "HASH"}],
    "DeletionProtectionEnabled": True,
}
STACK = {
    "Resources": {
        "RoomsTable": {"Type": "AWS::DynamoDB::Table", "Properties": ROOM},
        "RetryQueue": {"Type": "AWS::SQS::Queue"},
        "ExportsBucket": {"Type": "AWS::S3::Bucket"},
        "ArchiveBucket": {"Type": "AWS::S3::Bucket", "DeletionPolicy": "Retain"},
    }
}

CALL: Any = destroy.call


@pytest.fixture
def pools(account: str) -> dict[str, str]:
    """Two user pools that protect themselves. moto makes none for stacks, so they are beside it."""
    client = boto3.client("cognito-idp")
    made = {
        name: client.create_user_pool(PoolName=name, DeletionProtection="ACTIVE") for name in ("UserPool", "Operators")
    }
    return {name: str(answer["UserPool"]["Id"]) for name, answer in made.items()}


@pytest.fixture
def name(plays: Callable[..., None], pools: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """A stack that protects its data and itself, with a broker, which moto does not make for stacks."""
    plays(UpdateTerminationProtection={})  # moto does not know it
    name, ids = f"headrace-{uuid.uuid4().hex[:8]}", destroy.Stack.ids
    beside = {"AWS::Cognito::UserPool": pools, "AWS::AmazonMQ::Broker": {"Broker": "b-1"}}
    monkeypatch.setattr(destroy.Stack, "ids", lambda self, kind: beside.get(kind) or ids(self, kind))
    client = boto3.client("cloudformation")
    client.create_stack(StackName=name, TemplateBody=json.dumps(STACK), EnableTerminationProtection=True)
    return name


def stacks() -> set[str]:
    found = boto3.client("cloudformation").list_stacks()["StackSummaries"]
    return {one["StackName"] for one in found if one["StackStatus"] != "DELETE_COMPLETE"}


def test_a_stack_is_deleted_with_its_protected_data_after_its_name_was_typed(
    name: str, pools: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    logs, cognito = boto3.client("logs"), boto3.client("cognito-idp")
    for broker in ("b-1", "b-2"):
        logs.create_log_group(logGroupName=f"/aws/amazonmq/broker/{broker}/general")

    s3 = boto3.client("s3")
    ids = destroy.Stack(name).ids("AWS::S3::Bucket")
    bucket, archive = ids["ExportsBucket"], ids["ArchiveBucket"]
    for key in ("exports/a/1", "exports/a/2"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"lines")
    s3.put_object(Bucket=archive, Key="chat/rooms/1.jsonl.gz", Body=b"lines")

    def call(service: str, operation: str, **parameters: Any) -> Any:
        short = {"MaxKeys": 1} if operation == "list_objects_v2" else {}  # not all files are in a listing
        return CALL(service, operation, **parameters, **short)

    monkeypatch.setattr(destroy, "call", call)
    result = CliRunner().invoke(cli, ["destroy", "--stack", name], input=f"{name}\n")

    assert (result.exit_code, result.exception) == (0, None)
    assert "table RoomsTable" in result.output
    assert "queue RetryQueue, 0 messages" in result.output
    assert "bucket ExportsBucket with its files" in result.output
    assert bucket not in [each["Name"] for each in s3.list_buckets()["Buckets"]]
    assert "ArchiveBucket" not in result.output
    assert [each["Key"] for each in s3.list_objects_v2(Bucket=archive)["Contents"]] == ["chat/rooms/1.jsonl.gz"]
    assert name not in stacks()
    assert [table for table in boto3.client("dynamodb").list_tables()["TableNames"] if table.startswith(name)] == []
    for pool in pools.values():
        assert cognito.describe_user_pool(UserPoolId=pool)["UserPool"]["DeletionProtection"] == "INACTIVE"
    left = [one["logGroupName"] for one in logs.describe_log_groups(logGroupNamePrefix="/aws/amazonmq/")["logGroups"]]
    assert left == ["/aws/amazonmq/broker/b-2/general"]


def test_another_name_deletes_nothing(name: str) -> None:
    result = CliRunner().invoke(cli, ["destroy", "--stack", name], input="headrace-prod\n")

    assert result.exit_code == 1
    assert "nothing was deleted" in result.output
    assert name in stacks()


def test_a_stack_that_does_not_exist_is_not_asked_about(account: str) -> None:
    result = CliRunner().invoke(cli, ["destroy", "--stack", "headrace-none"])

    assert "there is no stack headrace-none in this account and Region" in result.output


class Interfaces:
    """Network interfaces of mappings that Lambda removes after some calls; the broker's own one stays."""

    def __init__(self, plays: Callable[..., None], monkeypatch: pytest.MonkeyPatch, left: int) -> None:
        self.left, self.asked = left, list[str]()
        mapping = ("AWS::Lambda::EventSourceMapping", "Persist0", str(uuid.uuid4()))
        plays(
            **listed(mapping, ("AWS::EC2::SecurityGroup", "BrokerSecurityGroup", "sg-1")),
            UpdateEventSourceMapping=lambda _: self.asked.append("disable"),
            DeleteEventSourceMapping=lambda _: self.asked.append("delete"),
            DescribeNetworkInterfaces=lambda _: self.found(),
        )
        monkeypatch.setattr(destroy, "WAIT_SECONDS", 0)

    def found(self) -> dict[str, Any]:
        self.left -= 1
        made = [{"NetworkInterfaceId": "eni-1", "InterfaceType": "lambda"}] * (self.left >= 0)
        return {"NetworkInterfaces": [{"NetworkInterfaceId": "eni-broker", "InterfaceType": "interface"}, *made]}


def test_mappings_are_disabled_until_lambda_has_removed_their_interfaces(
    plays: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    interfaces, said = Interfaces(plays, monkeypatch, left=2), list[str]()

    destroy.stop_mappings(destroy.Stack("headrace-dev"), said.append)

    assert interfaces.asked == ["disable"]
    assert said == ["waiting for Lambda to remove 1 network interfaces of mappings"] * 2


def test_mappings_whose_interfaces_stay_are_deleted_and_then_named(
    plays: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the roles of the functions, such an interface would stay for ever."""
    interfaces = Interfaces(plays, monkeypatch, left=1000)
    monkeypatch.setattr(destroy, "INTERFACE_MINUTES", 0)

    with pytest.raises(destroy.DeletionError, match="has not removed eni-1"):
        destroy.stop_mappings(destroy.Stack("headrace-dev"), lambda _: None)
    assert interfaces.asked == ["disable", "delete"]
