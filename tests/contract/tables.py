"""Tables for the suites, in the DynamoDB or emulator of the test's environment."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.core.items import Item
from headrace.storage.dynamodb.client import from_wire
from headrace.storage.ports import Table
from tests.contract.emulators import sdk

TABLE = Table("Messages", ("roomId", "timestampSk"))


def item(number: int, **more: Any) -> Item:
    return {"roomId": f"room-{number % 7}", "timestampSk": f"{number:05d}", "text": "hello", **more}


def described(name: str, *key: str, indexes: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """A table whose keys are texts, as its creation needs it."""
    schemas = [_schema(key), *(index["KeySchema"] for index in indexes)]
    names = {each["AttributeName"] for schema in schemas for each in schema}
    return {
        "TableName": name,
        "KeySchema": schemas[0],
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": "S"} for each in sorted(names)],
        "BillingMode": "PAY_PER_REQUEST",
        **({"GlobalSecondaryIndexes": list(indexes)} if indexes else {}),
    }


def index(name: str, *key: str, projected: tuple[str, ...] | None = None) -> dict[str, Any]:
    """An index with these attributes besides the keys; by default with all."""
    projection: dict[str, Any] = {"ProjectionType": "ALL" if projected is None else "KEYS_ONLY"}
    if projected:
        projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(projected)}
    return {"IndexName": name, "KeySchema": _schema(key), "Projection": projection}


def _schema(key: tuple[str, ...]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(key, ("HASH", "RANGE"), strict=False)]


MESSAGES = described(TABLE.name, *TABLE.key, indexes=(index("UserIndex", "userId", "timestampSk"),))


@contextmanager
def made(*tables: dict[str, Any]) -> Iterator[Any]:
    """Empty tables; the client that made them."""
    dynamodb = sdk("dynamodb")
    for table in tables:
        dynamodb.create_table(**table)
    for table in tables:
        while dynamodb.describe_table(TableName=table["TableName"])["Table"]["TableStatus"] != "ACTIVE":
            time.sleep(0.01)
    try:
        yield dynamodb
    finally:
        drop(dynamodb, *(table["TableName"] for table in tables))
        dynamodb.close()


def drop(dynamodb: Any, *names: str) -> None:
    """Delete tables, and wait until they are gone: another test may make one of the same name."""
    for name in names:
        dynamodb.delete_table(TableName=name)
    while {*names} & set(dynamodb.list_tables()["TableNames"]):
        time.sleep(0.01)


def scan(dynamodb: Any) -> list[Item]:
    """Every row of the messages, in key order."""
    pages = dynamodb.get_paginator("scan").paginate(TableName=TABLE.name)
    rows = [from_wire(row) for page in pages for row in page["Items"]]
    return sorted(rows, key=TABLE.key_of)
