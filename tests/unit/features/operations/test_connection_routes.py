"""Operators see a user's open connections, and close them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from headrace.api.router import Api, http_handler
from headrace.core.errors import Unavailable
from headrace.core.times import SECOND
from headrace.features.operations.connection_routes import CONNECTIONS, ROOMS, SECONDS_LEFT, Activity, UserConnections
from headrace.runtime.observability import logger
from headrace.runtime.threads import Parallel
from tests.fakes.live import MemoryConnections
from tests.worlds.functions import routes_of
from tests.worlds.requests import http_event
from tests.worlds.senders import CLOCK, NOW, caller

ROUTES = routes_of("manage_connections")
LIST, CLOSE = "GET /users/{userId}/connections", "DELETE /users/{userId}/connections"
CLOSE_OWN = "DELETE /connections"
LATER = "2025-11-21T10:01:58.722861Z"


class Manager:
    """A :class:`ConnectionManager`: ``open`` has the open connections. ``down``: these do not answer."""

    def __init__(self) -> None:
        self.open: dict[str, Activity] = {}
        self.down: set[str] = set()

    def activity(self, connection_id: str) -> Activity | None:
        return self.open.get(connection_id)

    def close(self, connection_id: str) -> bool:
        if connection_id in self.down:
            raise Unavailable("connections cannot be reached: 429")
        return self.open.pop(connection_id, None) is not None


class Context:
    """The context of an invocation that has time for so many rounds."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds

    def get_remaining_time_in_millis(self) -> int:
        self._rounds -= 1
        return int((SECONDS_LEFT + self._rounds + 1) * 1000)


class World:
    def __init__(self) -> None:
        self.connections = MemoryConnections(CLOCK)
        self.manager = Manager()
        self.services = UserConnections(self.connections, self.manager, Parallel(2, "test"))
        self.rounds = 1000
        """How often a request has time to go on."""

    def connect(self, connection: str, user: str = "bob", *rooms: str, at: str = NOW) -> None:
        self.connections.open(connection, caller(user))
        for room in rooms:
            self.connections.subscribe({room: None}, connection, caller(user), CLOCK.now() // SECOND)
        self.manager.open[connection] = Activity(at, LATER)

    def call(self, route: str, user: str = "bob", scope: str = "ops", caller: str = "olga") -> tuple[int, Any]:
        event = http_event(route, scope=scope, user=caller, path={"userId": user})
        answer = http_handler(Api(ROUTES, lambda: self.services, CLOCK))(event, Context(self.rounds))
        found = json.loads(answer["body"])
        if answer["statusCode"] == 200:
            model: TypeAdapter[Any] = TypeAdapter(ROUTES[route].answer)
            assert model.dump_python(model.validate_python(found)) == found
        return answer["statusCode"], found


@pytest.fixture
def world() -> World:
    found = World()
    found.connect("c-1", "bob", "kitchen", "hall", at=LATER)
    found.connect("c-2", "bob")
    found.connect("c-3", "carol", "kitchen")
    return found


def test_the_open_connections_of_a_user_are_listed_with_their_rooms(world: World) -> None:
    shown = {"connectedAt": NOW, "lastActiveAt": LATER, "rooms": [], "roomCount": 0}
    older = {**shown, "connectionId": "c-2"}
    newer = {**shown, "connectionId": "c-1", "connectedAt": LATER, "rooms": ["hall", "kitchen"], "roomCount": 2}

    assert world.call(LIST) == (200, {"connections": [older, newer], "hasMore": False})
    assert world.call(LIST, "nobody") == (200, {"connections": [], "hasMore": False})


def test_a_connection_that_ended_without_a_notice_is_not_listed(world: World) -> None:
    del world.manager.open["c-1"]

    assert [each["connectionId"] for each in world.call(LIST)[1]["connections"]] == ["c-2"]


def test_many_rooms_are_counted_and_the_first_are_shown(world: World) -> None:
    world.connect("c-9", "dora", *(f"room-{number:03}" for number in range(ROOMS + 1)))

    (shown,) = world.call(LIST, "dora")[1]["connections"]

    assert (len(shown["rooms"]), shown["roomCount"]) == (ROOMS, ROOMS + 1)


def test_all_connections_of_a_user_are_closed_and_of_no_other_user(world: World) -> None:
    assert world.call(CLOSE) == (200, {"closed": 2, "hasMore": False})

    assert world.manager.open.keys() == {"c-3"}
    assert world.call(CLOSE) == (200, {"closed": 0, "hasMore": False})


def test_one_that_cannot_be_closed_now_is_a_503_after_the_others(world: World) -> None:
    world.manager.down = {"c-1"}

    assert world.call(CLOSE)[0] == 503
    assert world.manager.open.keys() == {"c-1", "c-3"}


def test_a_list_has_a_bounded_number_of_connections(world: World) -> None:
    for number in range(CONNECTIONS + 1):
        world.connect(f"p-{number}", "producer")

    shown = world.call(LIST, "producer")[1]

    assert (len(shown["connections"]), shown["hasMore"]) == (CONNECTIONS, True)


def test_connections_are_closed_as_long_as_there_is_time(world: World) -> None:
    """Also those that follow any number of connections that ended without a notice."""
    for number in range(3 * CONNECTIONS):
        world.connect(f"p-{number:03}", "producer")
        if number < 2 * CONNECTIONS:
            del world.manager.open[f"p-{number:03}"]

    world.rounds = 0
    assert world.call(CLOSE, "producer")[1] == {"closed": 0, "hasMore": True}
    world.rounds = 3
    assert world.call(CLOSE, "producer")[1] == {"closed": CONNECTIONS, "hasMore": False}


def test_a_repeated_request_gets_past_connections_that_ended_without_a_notice(world: World) -> None:
    for number in range(5 * CONNECTIONS):
        world.connect(f"p-{number:04}", "producer")
        if number % CONNECTIONS:
            del world.manager.open[f"p-{number:04}"]

    world.rounds = 1
    for _ in range(1000):
        if not any(each.startswith("p-") for each in world.manager.open):
            return
        world.call(CLOSE, "producer")

    raise AssertionError(world.manager.open)


def test_users_close_all_of_their_own_connections_and_no_others(world: World) -> None:
    assert world.call(CLOSE_OWN, scope="chat:read", caller="bob") == (200, {"closed": 2, "hasMore": False})

    assert world.manager.open.keys() == {"c-3"}


def test_who_closed_whose_connections_is_in_the_log(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[Any] = []
    monkeypatch.setattr(logger, "warning", lambda text, extra: lines.append((text, extra)))

    world.call(CLOSE)

    logged = {"kind": "audit", "operator": "olga", "user": "bob"}
    assert lines == [("connections are being closed", logged), ("connections were closed", {**logged, "closed": 2})]
