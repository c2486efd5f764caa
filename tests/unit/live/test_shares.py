"""One user has a bounded number of connections: open at a time, and subscribed to one room."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.api.router import Api, connection_handler
from headrace.core.caller import Caller
from headrace.core.errors import RateLimited, StoreUnavailable
from headrace.core.keys import normalize_id
from headrace.core.times import SECOND
from headrace.live.connections import CONNECTION_SECONDS, GRACE_SECONDS, connection_room
from headrace.live.dynamodb import Connections
from headrace.live.shares import CONNECTIONS_PER_USER, ROOMS_PER_CONNECTION, Shares
from tests.fakes.clock import FixedClock
from tests.fakes.commands import MemoryCommands
from tests.fakes.live import MemoryConnections
from tests.worlds.functions import routes_of
from tests.worlds.senders import NOW


class Handshakes:
    """track_connections with connections in memory."""

    def __init__(self) -> None:
        self.clock = FixedClock(NOW)
        self.connections = MemoryConnections(self.clock)
        self.commands = MemoryCommands()
        self.router = connection_handler(Api(routes_of("track_connections"), self.services, self.clock))
        self.opened = 0

    def services(self) -> Shares:
        return Shares(self.commands, self.connections)

    def open(self, user: str = "alice", scope: str = "chat:read") -> dict[str, Any]:
        self.opened += 1
        claims = {"sub": user, "scope": scope, "exp": "4102444800"}
        context = {"routeKey": "$connect", "connectionId": f"c-{self.opened}", "authorizer": claims}
        return self.router({"requestContext": context})


def subscribes(connections: Connections, room: str, connection: str) -> None:
    """Check that a connection of alice may subscribe to a room, while the cache is away."""
    commands = MemoryCommands()
    commands.down = True
    for error in Shares(commands, connections).refused(caller("alice"), [room], connection).values():
        raise error


def test_a_user_with_too_many_open_connections_is_refused_and_others_are_not() -> None:
    handshakes = Handshakes()
    for _ in range(CONNECTIONS_PER_USER):
        assert handshakes.open()["statusCode"] == 200

    answer = handshakes.open()

    assert (answer["statusCode"], answer["headers"]["retry-after"]) == (429, "10")
    assert answer["body"] == "you have 50 open connections, which is the most that one user may have"
    assert handshakes.open("bob")["statusCode"] == 200
    assert handshakes.open(scope="chat:read events:write")["statusCode"] == 200


def test_closed_and_expired_connections_make_place_for_others() -> None:
    handshakes = Handshakes()
    for _ in range(CONNECTIONS_PER_USER):
        handshakes.open()

    handshakes.connections.close("c-1")
    assert handshakes.open()["statusCode"] == 200
    assert handshakes.open()["statusCode"] == 429
    handshakes.clock.advance(CONNECTION_SECONDS + GRACE_SECONDS)
    assert handshakes.open()["statusCode"] == 200


def caller(user: str) -> Caller:
    return Caller(user, user, frozenset({"chat:read"}), 4_102_444_800)


def test_no_user_is_refused_while_connections_cannot_be_counted() -> None:
    class Away(MemoryConnections):
        def of_user(self, user_id: str, room_id: str | None = None) -> set[str]:
            raise StoreUnavailable("down")

        def rooms_of(self, connection_id: str) -> set[str]:
            raise StoreUnavailable("down")

    subscribes(Away(), "kitchen", "c-1")
    handshakes = Handshakes()
    handshakes.connections = Away(handshakes.clock)
    assert handshakes.open()["statusCode"] == 200
    assert (connection_room("c-1"), "c-1") in handshakes.connections.rows


def test_a_connection_follows_a_bounded_number_of_rooms() -> None:
    """Its end deletes a row for each of them within ten seconds."""
    connections, now = MemoryConnections(FixedClock(NOW)), FixedClock(NOW).now() // SECOND
    connections.open("c-1", caller("alice"))
    for number in range(ROOMS_PER_CONNECTION):
        subscribes(connections, f"r-{number}", "c-1")
        connections.subscribe({f"r-{number}": None}, "c-1", caller("alice"), now)

    with pytest.raises(RateLimited, match="too many rooms"):
        subscribes(connections, "one more", "c-1")
    subscribes(connections, "r-0", "c-1")
    subscribes(connections, "one more", "c-2")


def test_the_partition_of_a_connection_is_never_that_of_a_room() -> None:
    assert connection_room("abc=") != connection_room("abd=")
    with pytest.raises(ValueError):
        normalize_id(connection_room("abc="))
