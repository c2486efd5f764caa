"""A table for the store's suites, in the DynamoDB or emulator of the test's environment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core.items import Item
from headrace.storage.dynamodb.client import from_wire
from headrace.storage.ports import Table
from tests.contract.emulators import sdk

TABLE = Table("Messages", ("roomId", "timestampSk"))
INDEX = ("userId", "timestampSk")


def item(number: int, **more: Any) -> Item:
    return {"roomId": f"room-{number % 7}", "timestampSk": f"{number:05d}", "text": "hello", **more}


@contextmanager
def made_table() -> Iterator[Any]:
    """An empty table with an index by user; the client that made it."""
    dynamodb = sdk("dynamodb")
    dynamodb.create_table(
        TableName=TABLE.name,
        KeySchema=_schema(TABLE.key),
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in {*TABLE.key, *INDEX}],
        GlobalSecondaryIndexes=[
            {"IndexName": "UserIndex", "KeySchema": _schema(INDEX), "Projection": {"ProjectionType": "ALL"}}
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    _wait(dynamodb, "table_exists")
    try:
        yield dynamodb
    finally:
        dynamodb.delete_table(TableName=TABLE.name)
        _wait(dynamodb, "table_not_exists")
        dynamodb.close()


def _schema(key: tuple[str, ...]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(key, ("HASH", "RANGE"), strict=True)]


def _wait(dynamodb: Any, state: str) -> None:
    dynamodb.get_waiter(state).wait(TableName=TABLE.name, WaiterConfig={"Delay": 1})


def scan(dynamodb: Any) -> list[Item]:
    """Every row, in key order."""
    pages = dynamodb.get_paginator("scan").paginate(TableName=TABLE.name)
    rows = [from_wire(row) for page in pages for row in page["Items"]]
    return sorted(rows, key=TABLE.key_of)
