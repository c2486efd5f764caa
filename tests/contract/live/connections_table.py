"""The table of connections, in an emulator."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.emulators import sdk

TABLE = "Connections"


def tables(request: pytest.FixtureRequest, emulator: str) -> Iterator[Any]:
    request.getfixturevalue(emulator)
    dynamodb = sdk("dynamodb")
    dynamodb.create_table(
        TableName=TABLE,
        KeySchema=[
            {"AttributeName": "roomId", "KeyType": "HASH"},
            {"AttributeName": "connectionId", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": name, "AttributeType": "S"} for name in ("roomId", "connectionId", "userId")
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "ByConnection",
                "KeySchema": [{"AttributeName": "connectionId", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            },
            {
                "IndexName": "ByUser",
                "KeySchema": [
                    {"AttributeName": "userId", "KeyType": "HASH"},
                    {"AttributeName": "roomId", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["expiresAt"]},
            },
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    while dynamodb.describe_table(TableName=TABLE)["Table"]["TableStatus"] != "ACTIVE":
        time.sleep(0.05)
    yield dynamodb
    dynamodb.delete_table(TableName=TABLE)
    while TABLE in dynamodb.list_tables()["TableNames"]:
        time.sleep(0.05)
    dynamodb.close()
