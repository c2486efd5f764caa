"""One suite for every place that remembers connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rabbit import free_port

from headrace.auth import Caller
from headrace.aws import client
from headrace.connections import CONNECTION_SECONDS, Connections, DynamoConnections, MemoryConnections
from headrace.errors import StoreUnavailable
from headrace.items import from_wire, to_wire
from headrace.keys import connection_room
from headrace.times import FixedClock

NOW = 1_763_719_258
CLOCK = FixedClock(NOW * 1_000_000)
ALICE = Caller("alice", "Alice", frozenset({"chat:read"}), NOW + 3600)
TABLE = "Connections"

Rows = Callable[[], list[dict[str, Any]]]
Subscribe = Callable[[str, str], None]


@pytest.fixture
def table(aws: str) -> Iterator[Any]:
    dynamodb = client("dynamodb", timeout=30, attempts=1)  # a first call loads much of the emulator
    dynamodb.create_table(
        TableName=TABLE,
        KeySchema=[
            {"AttributeName": "roomId", "KeyType": "HASH"},
            {"AttributeName": "connectionId", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("roomId", "connectionId")],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "ByConnection",
                "KeySchema": [{"AttributeName": "connectionId", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    yield dynamodb
    dynamodb.delete_table(TableName=TABLE)
    dynamodb.close()


@pytest.fixture(params=["memory", "dynamodb"])
def parts(request: pytest.FixtureRequest) -> tuple[Connections, Rows, Subscribe]:
    """What remembers, all its rows, and how a connection is put into a room."""
    if request.param == "memory":
        memory = MemoryConnections(CLOCK)

        def note(connection: str, room: str) -> None:
            memory.rows[room, connection] = {"roomId": room, "connectionId": connection}

        return memory, lambda: list(memory.rows.values()), note
    dynamodb = request.getfixturevalue("table")

    def put(connection: str, room: str) -> None:
        dynamodb.put_item(TableName=TABLE, Item=to_wire({"roomId": room, "connectionId": connection}))

    return (
        DynamoConnections(dynamodb, TABLE, CLOCK),
        lambda: [from_wire(item) for item in dynamodb.scan(TableName=TABLE)["Items"]],
        put,
    )


def test_an_open_connection_is_known_by_its_user_and_outlives_what_api_gateway_allows_by_little(
    parts: tuple[Connections, Rows, Subscribe],
) -> None:
    connections, rows, _ = parts

    connections.open("c-1", ALICE)

    (row,) = rows()
    assert row.pop("expiresAt") - NOW - CONNECTION_SECONDS in range(1, 3600)
    assert row == {
        "roomId": connection_room("c-1"),
        "connectionId": "c-1",
        "userId": "alice",
        "connectedAt": NOW,
        "tokenExpiresAt": NOW + 3600,
    }


def test_closing_takes_a_connection_out_of_all_its_rooms_and_no_other_out_of_any(
    parts: tuple[Connections, Rows, Subscribe],
) -> None:
    """Fault 16 of the design, in spirit: another connection deleted than the one that is gone."""
    connections, rows, subscribe = parts
    for connection in ("c-1", "c-2"):
        connections.open(connection, ALICE)
    for number in range(60):
        subscribe("c-1", f"room-{number}")
    subscribe("c-2", "room-1")

    assert connections.close("c-1") == 61

    assert {row["roomId"] for row in rows()} == {connection_room("c-2"), "room-1"}
    assert {row["connectionId"] for row in rows()} == {"c-2"}


def test_closing_twice_or_what_was_never_open_is_harmless(parts: tuple[Connections, Rows, Subscribe]) -> None:
    connections, rows, _ = parts
    connections.open("c-1", ALICE)

    for connection in ("c-1", "c-1", "never"):
        connections.close(connection)

    assert rows() == []


def test_a_table_that_is_away_is_said_to_be(aws: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    connections = DynamoConnections(client("dynamodb", attempts=1), TABLE, CLOCK)

    with pytest.raises(StoreUnavailable):
        connections.open("c-1", ALICE)
    with pytest.raises(StoreUnavailable):
        connections.close("c-1")
