"""Backups and restores of a stack's tables, against moto."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from localstage.core.errors import StageError
from ops import tables
from ops.drill import drill
from ops.tables import TableError, Tables

NOW = datetime(2026, 11, 22, 23, 57, 54, tzinfo=UTC)


def declared(key: str) -> dict[str, Any]:
    return {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
        },
    }


class Deployed:
    """A stack with two tables; ``rooms`` has point-in-time recovery."""

    def __init__(self) -> None:
        self.name = f"headrace-{uuid.uuid4().hex[:8]}"
        body = {"Resources": {"RoomsTable": declared("roomId"), "ResortsTable": declared("resortID")}}
        boto3.client("cloudformation").create_stack(StackName=self.name, TemplateBody=json.dumps(body))
        self.dynamodb = boto3.client("dynamodb")
        self.tables = Tables(self.name)
        self.rooms = self.tables.names()["RoomsTable"]
        answer = self.dynamodb.update_continuous_backups(
            TableName=self.rooms, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
        )
        window = answer["ContinuousBackupsDescription"]["PointInTimeRecoveryDescription"]
        self.latest: datetime = window["LatestRestorableDateTime"]

    def put(self, *rooms: str, name: str = "") -> None:
        for room in rooms:
            self.dynamodb.put_item(TableName=self.rooms, Item={"roomId": {"S": room}, "name": {"S": name}})

    def rows(self, table: str = "") -> dict[str, str]:
        found = self.dynamodb.scan(TableName=table or self.rooms)["Items"]
        return {row["roomId"]["S"]: row["name"]["S"] for row in found}


@pytest.fixture
def stack(aws: str, monkeypatch: pytest.MonkeyPatch) -> Deployed:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    return Deployed()


def test_every_table_of_a_stack_is_backed_up(stack: Deployed) -> None:
    made = list(stack.tables.back_up(NOW))

    assert {one.table for one in made} == {"RoomsTable", "ResortsTable"}
    (backup,) = stack.dynamodb.list_backups(TableName=stack.rooms)["BackupSummaries"]
    assert (backup["BackupName"], backup["BackupStatus"]) == (f"{stack.name}-RoomsTable-20261122T235754Z", "AVAILABLE")
    assert backup["BackupArn"] in {one.arn for one in made}


def test_a_backup_that_fails_is_an_error(stack: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    deleted = {"BackupDescription": {"BackupDetails": {"BackupStatus": "DELETED"}}}
    monkeypatch.setattr(stack.tables._tables, "describe_backup", lambda **_: deleted)

    with pytest.raises(TableError, match="is DELETED, expected AVAILABLE"):
        list(stack.tables.back_up(NOW))


def test_a_backup_is_waited_for(stack: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    states = iter(["CREATING", "AVAILABLE", "AVAILABLE"])
    monkeypatch.setattr(tables, "POLL_SECONDS", 0)
    monkeypatch.setattr(
        stack.tables._tables,
        "describe_backup",
        lambda **_: {"BackupDescription": {"BackupDetails": {"BackupStatus": next(states)}}},
    )

    assert len(list(stack.tables.back_up(NOW))) == 2


def test_a_table_is_restored_beside_the_old_one(stack: Deployed) -> None:
    stack.put("lobby")

    made = stack.tables.restore("RoomsTable", stack.latest.isoformat())

    assert made.source == stack.rooms
    assert made.name == f"{stack.rooms}-restored-{stack.latest.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    assert stack.rows(made.name) == stack.rows() == {"lobby": ""}


def test_a_restored_table_is_never_restored_over(stack: Deployed) -> None:
    stack.tables.restore("RoomsTable", stack.latest.isoformat())

    with pytest.raises(TableError, match="exists already"):
        stack.tables.restore("RoomsTable", stack.latest.isoformat())


@pytest.mark.parametrize("text", ["yesterday", "2026-11-22T09:00:00", ""])
def test_a_time_needs_a_zone(stack: Deployed, text: str) -> None:
    with pytest.raises(TableError, match="ISO 8601 with a zone"):
        stack.tables.restore("RoomsTable", text)


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_time_outside_of_the_window_is_refused_with_the_window(stack: Deployed, hours: int) -> None:
    at = stack.latest + timedelta(hours=hours)

    with pytest.raises(TableError, match=r"allowed is from .* to "):
        stack.tables.restore("RoomsTable", at.isoformat())


def test_a_table_without_recovery_is_refused(stack: Deployed) -> None:
    with pytest.raises(TableError, match="no point-in-time recovery"):
        stack.tables.restore("ResortsTable", stack.latest.isoformat())


def test_an_unknown_table_is_refused_with_the_known_ones(stack: Deployed) -> None:
    with pytest.raises(TableError, match="has ResortsTable, RoomsTable"):
        stack.tables.restore("Rooms", stack.latest.isoformat())


def test_an_unknown_stack_is_an_error_that_names_it(stack: Deployed) -> None:
    with pytest.raises(StageError, match="no-such-stack"):
        Tables("no-such-stack").names()


def test_copying_brings_missing_rows_back_and_changes_no_other(stack: Deployed) -> None:
    stack.put("lobby", "lift", name="old")
    restored = stack.tables.restore("RoomsTable", stack.latest.isoformat()).name
    stack.dynamodb.delete_item(TableName=stack.rooms, Key={"roomId": {"S": "lobby"}})
    stack.put("lift", name="new")

    assert stack.tables.copy_rows(restored, "RoomsTable") == (1, 1)
    assert stack.tables.copy_rows(restored, "RoomsTable") == (0, 2)
    assert stack.rows() == {"lobby": "old", "lift": "new"}


def test_rows_are_not_copied_into_a_table_with_other_keys(stack: Deployed) -> None:
    with pytest.raises(TableError, match="other keys than ResortsTable"):
        stack.tables.copy_rows(stack.rooms, "ResortsTable")


def test_a_table_that_is_still_restored_is_not_copied(stack: Deployed, monkeypatch: pytest.MonkeyPatch) -> None:
    described = stack.dynamodb.describe_table(TableName=stack.rooms)
    described["Table"]["TableStatus"] = "CREATING"
    monkeypatch.setattr(stack.tables._tables, "describe_table", lambda **_: described)

    with pytest.raises(TableError, match="is CREATING; wait"):
        stack.tables.copy_rows(stack.rooms, "RoomsTable")


def test_the_drill_ends_with_all_rows_and_says_what_it_cannot_show(stack: Deployed) -> None:
    lines = list(drill())

    assert lines[0].startswith("made the 7 tables of template.yaml")
    assert lines[-1].startswith("only AWS shows")
