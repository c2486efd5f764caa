"""One suite for every implementation of connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.core.caller import Caller
from headrace.core.errors import NotFound
from headrace.live.connections import (
    CONNECTION_SECONDS,
    GRACE_SECONDS,
    Subscription,
    connection_room,
)
from headrace.live.dynamodb import CHECK_SECONDS, Connections
from headrace.runtime.aws import client
from headrace.storage.dynamodb.client import DynamoTable, from_wire
from tests.contract.tables import described, index, made
from tests.fakes.clock import FixedClock
from tests.fakes.live import MemoryConnections

NOW = 1_763_719_258
ALICE = Caller("alice", "Alice", frozenset({"chat:read"}), NOW + 3600)

TABLE = described(
    "Connections",
    "roomId",
    "connectionId",
    indexes=(
        index("ByConnection", "connectionId", projected=()),
        index("ByUser", "userId", "roomId", projected=("expiresAt",)),
    ),
)
NAME = TABLE["TableName"]

Rows = Callable[[], list[dict[str, Any]]]


@pytest.fixture(params=["memory", "dynalite"])
def parts(request: pytest.FixtureRequest) -> Iterator[tuple[Connections, Rows, FixedClock]]:
    """An implementation, all its rows, and its clock."""
    clock = FixedClock(NOW * 1_000_000)
    if request.param == "memory":
        memory = MemoryConnections(clock)
        yield memory, lambda: list(memory.rows.values()), clock
        return
    request.getfixturevalue(request.param)
    with made(TABLE) as dynamodb:
        yield (
            Connections(DynamoTable(client("dynamodb"), NAME, "connections"), clock),
            lambda: [from_wire(item) for item in dynamodb.scan(TableName=NAME)["Items"]],
            clock,
        )


def test_closing_removes_one_connection_from_all_its_rooms(
    parts: tuple[Connections, Rows, FixedClock],
) -> None:
    """Fault 16: a live connection is deleted in place of the closed one."""
    connections, rows, _ = parts
    for connection in ("c-1", "c-2"):
        connections.open(connection, ALICE)
    for number in range(60):
        connections.subscribe({f"room-{number}": None}, "c-1", ALICE, NOW)
    connections.subscribe({"room-1": None}, "c-2", ALICE, NOW)

    assert connections.close("c-1") == 61
    for connection in ("c-1", "never"):
        connections.close(connection)

    assert {row["roomId"] for row in rows()} == {connection_room("c-2"), "room-1"}
    assert {row["connectionId"] for row in rows()} == {"c-2"}


BOB = Caller("bob", "Bob", frozenset({"chat:read"}), NOW + 3600)
SINCE = "2025-11-21T10:00:00.000000Z"


def test_a_subscription_is_visible_at_once_until_connection_or_token_ends(
    parts: tuple[Connections, Rows, FixedClock],
) -> None:
    connections, _, clock = parts
    connections.subscribe({"kitchen": None}, "c-1", ALICE, NOW)
    connections.subscribe({"kitchen": SINCE}, "c-2", BOB, NOW - CONNECTION_SECONDS)
    connections.subscribe({"hall": None}, "c-1", ALICE, NOW)

    assert connections.subscriptions("kitchen") == [
        Subscription("c-1", "alice"),
        Subscription("c-2", "bob", SINCE),
    ]
    clock.advance(601)
    assert connections.subscriptions("kitchen") == [Subscription("c-1", "alice")]
    clock.advance(3000)
    assert connections.subscriptions("kitchen") == []
    assert connections.has_subscriptions("kitchen"), "its token may have been renewed"
    clock.advance(CONNECTION_SECONDS)
    assert not connections.has_subscriptions("kitchen")
    assert connections.subscriptions("cellar") == []


def test_a_renewed_connection_keeps_its_subscriptions(parts: tuple[Connections, Rows, FixedClock]) -> None:
    connections, _, clock = parts
    connections.open("c-1", ALICE)
    connections.open("c-2", BOB)
    for number in (1, 2):
        connections.subscribe({"kitchen": None}, f"c-{number}", ALICE, NOW)

    assert connections.renew("c-1", NOW + 5400) == NOW + 5400
    assert connections.renew("c-1", NOW + 60) == NOW + 5400
    assert connections.expiries(["c-1", "c-2", "c-3"]) == {"c-1": NOW + 5400, "c-2": BOB.expires_at}
    clock.advance(3601)
    assert connections.subscriptions("kitchen") == [Subscription("c-1", "alice")]
    clock.advance(1600)
    assert connections.subscriptions("kitchen") == [Subscription("c-1", "alice", is_expiring=True)]
    clock.advance(200)
    assert connections.subscriptions("kitchen") == []
    connections.renew("c-1", NOW + 7200)
    clock.advance(CHECK_SECONDS)
    assert connections.subscriptions("kitchen") == [Subscription("c-1", "alice")]


def test_a_closed_connection_is_not_renewed(parts: tuple[Connections, Rows, FixedClock]) -> None:
    connections, rows, _ = parts

    with pytest.raises(NotFound):
        connections.renew("c-1", NOW + 7200)
    assert rows() == []


def test_the_followers_of_a_room_are_listed_by_user_until_their_connections_must_have_ended(
    parts: tuple[Connections, Rows, FixedClock],
) -> None:
    connections, _, clock = parts
    for connection, user in (("c-1", ALICE), ("c-2", ALICE), ("c-3", BOB)):
        connections.subscribe({"kitchen": None}, connection, user, NOW)
    connections.subscribe({"hall": None}, "c-4", BOB, NOW)

    assert connections.followers("kitchen", 10) == ({"alice": ["c-1", "c-2"], "bob": ["c-3"]}, False)
    assert connections.followers("kitchen", 2) == ({"alice": ["c-1", "c-2"]}, True)
    assert connections.followers("cellar", 10) == ({}, False)

    clock.advance(3 * 3600)
    assert connections.followers("kitchen", 10) == ({}, False)


def test_a_users_connections_are_listed_until_they_expire(parts: tuple[Connections, Rows, FixedClock]) -> None:
    """Rows that TTL has not deleted yet do not count for ever."""
    connections, _, clock = parts
    for connection, user in (("c-1", ALICE), ("c-2", ALICE), ("c-3", BOB)):
        connections.open(connection, user)
        connections.subscribe({"kitchen": None}, connection, user, NOW)
    connections.subscribe({"kitchens": None}, "c-1", ALICE, NOW)
    connections.subscribe({"hall": None}, "c-2", ALICE, NOW)

    assert connections.of_user("alice") == {"c-1", "c-2"}
    assert connections.of_user("alice", "kitchen") == {"c-1", "c-2"}
    assert connections.of_user("alice", "hall") == {"c-2"}
    assert connections.of_user("carol") == connections.of_user("bob", "hall") == set()
    clock.advance(CONNECTION_SECONDS + GRACE_SECONDS)
    assert connections.of_user("alice") == connections.of_user("alice", "kitchen") == set()
