"""The tables of rooms and memberships in the DynamoDB emulator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.contract.emulators import sdk

ROOMS = "Rooms"
MEMBERSHIPS = "Memberships"


@pytest.fixture
def tables(dynalite: str) -> Iterator[Any]:
    dynamodb = sdk("dynamodb")
    text = {"AttributeType": "S"}
    by_room = [{"AttributeName": "roomId", "KeyType": "HASH"}, {"AttributeName": "userId", "KeyType": "RANGE"}]
    dynamodb.create_table(
        TableName=ROOMS,
        KeySchema=by_room[:1],
        AttributeDefinitions=[{"AttributeName": "roomId", **text}],
        BillingMode="PAY_PER_REQUEST",
    )
    dynamodb.create_table(
        TableName=MEMBERSHIPS,
        KeySchema=[{"AttributeName": "userId", "KeyType": "HASH"}, {"AttributeName": "roomId", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, **text} for name in ("userId", "roomId")],
        GlobalSecondaryIndexes=[
            {"IndexName": "RoomMembers", "KeySchema": by_room, "Projection": {"ProjectionType": "KEYS_ONLY"}}
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    for name in (ROOMS, MEMBERSHIPS):
        dynamodb.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    yield dynamodb
    for name in (ROOMS, MEMBERSHIPS):
        dynamodb.delete_table(TableName=name)
        dynamodb.get_waiter("table_not_exists").wait(TableName=name, WaiterConfig={"Delay": 1})
    dynamodb.close()
