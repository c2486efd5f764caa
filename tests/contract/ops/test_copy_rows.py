"""Rows of a restored table are copied back, against moto."""

from __future__ import annotations

import uuid
from typing import Any

import boto3
import pytest

from ops.copy_rows import CopyError, copy_rows


class Tables:
    """A table and one beside it that was restored."""

    def __init__(self, client: Any, restored_key: str = "roomId") -> None:
        self.client = client
        run = uuid.uuid4().hex[:8]
        self.present, self.restored = f"rooms-{run}", f"rooms-{run}-restored"
        for name, key in ((self.present, "roomId"), (self.restored, restored_key)):
            client.create_table(
                TableName=name,
                BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
                KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            )

    def put(self, table: str, **rooms: str) -> None:
        for room, name in rooms.items():
            self.client.put_item(TableName=table, Item={"roomId": {"S": room}, "name": {"S": name}})

    def rows(self, table: str) -> dict[str, str]:
        return {row["roomId"]["S"]: row["name"]["S"] for row in self.client.scan(TableName=table)["Items"]}


@pytest.fixture
def dynamodb(aws: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    return boto3.client("dynamodb")


def test_copying_brings_missing_rows_back_and_changes_no_other(dynamodb: Any) -> None:
    tables = Tables(dynamodb)
    tables.put(tables.restored, lobby="old", lift="old")
    tables.put(tables.present, lift="new")

    assert copy_rows(tables.restored, tables.present) == (1, 1)
    assert copy_rows(tables.restored, tables.present) == (0, 2)
    assert tables.rows(tables.present) == {"lobby": "old", "lift": "new"}


def test_rows_are_not_copied_into_a_table_with_other_keys(dynamodb: Any) -> None:
    tables = Tables(dynamodb, restored_key="resortID")

    with pytest.raises(CopyError, match="other keys than"):
        copy_rows(tables.restored, tables.present)


def test_a_missing_table_is_an_error_of_one_sentence(dynamodb: Any) -> None:
    with pytest.raises(CopyError, match=r"0 rows were copied, then: .*not found"):
        copy_rows("no-such-table", Tables(dynamodb).present)
