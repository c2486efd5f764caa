"""The calls of DynamoDB that connecting and following cost are those that the page about rooms says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.api.router import Api, connection_handler
from headrace.live.shares import Shares
from headrace.streams.chat.rooms.access import RoomAccess
from headrace.streams.chat.rooms.rooms import CachedRooms
from tests.worlds.frame_stage import Stage
from tests.worlds.functions import routes_of
from tests.worlds.room_world import GROUP, OPEN
from tests.worlds.write_path import frame_event

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "rooms-storage.md"
KINDS = ("an open room", "a room with members", "a room without a row")
ROOMS = [f"room-{number}" for number in range(20)]


class Costs:
    """Environments of the functions of connections, and 20 rooms of a kind, which alice followed before."""

    def __init__(self, kind: int) -> None:
        self.stage = stage = Stage()
        for room in ROOMS if kind < 2 else ():
            stage.world.ok("bob", "PUT", room, (OPEN, GROUP)[kind])
            stage.world.bring("bob", room, "alice")
        stage.frames = stage.environment(RoomAccess(CachedRooms(stage.world.rooms), stage.world.memberships))
        shares = Shares(stage.commands, stage.connections)
        self._tracking = connection_handler(Api(routes_of("track_connections"), lambda: shares, stage.world.clock))
        self.positions = {room: stage.request("subscribe", connection="c-0", roomId=room)["position"] for room in ROOMS}

    def _track(self, route: str, connection: str) -> None:
        event = frame_event({}, scope="chat:read")
        event["requestContext"] |= {"routeKey": route, "connectionId": connection}
        assert self._tracking(event)["statusCode"] == 200

    def _calls(self, act: Callable[[], object]) -> int:
        def made() -> int:
            world, queries = self.stage.world, self.stage.reader.queries
            return world.rooms.reads + world.memberships.reads + len(queries) + world.connections.table.calls

        before = made()
        act()
        return made() - before

    def all(self) -> dict[str, int]:
        """The calls of each step of one connection, and of another one that resumes."""

        def ask(action: str, connection: str, **body: Any) -> int:
            def act() -> None:
                assert "error" not in str(self.stage.request(action, connection=connection, **body))

            return self._calls(act)

        connect = self._calls(lambda: self._track("$connect", "c-1"))
        subscribe = ask("subscribe", "c-1", roomId=ROOMS[0])
        self._track("$connect", "c-2")
        return {
            "connect": connect,
            "connect and `subscribe`": connect + subscribe,
            "`resume` of 20 rooms, new connection": ask("resume", "c-2", rooms=self.positions),
            "`check` of 20 rooms": ask("check", "c-2", rooms=self.positions),
            "renewal": self._calls(lambda: self.stage.connections.renew("c-2", 4_102_444_801)),
            "disconnect, 20 rooms": self._calls(lambda: self._track("$disconnect", "c-2")),
        }


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_a_warm_environment_makes_as_many_calls_as_the_page_says(kind: int) -> None:
    rows = [line.strip("| \n").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    stated = {row[0]: int(row[kind + 1]) for row in rows if len(row) == 4 and row[1].isdecimal()}

    assert Costs(kind).all() == stated


@pytest.mark.parametrize("lost", ["its data", "its node"])
def test_without_the_cache_an_index_tells_what_a_connection_follows(lost: str) -> None:
    """If only the data is lost, a check writes the rows again, and rows of ended connections expire."""
    costs = Costs(0)
    costs.stage.commands.lose()
    costs.stage.commands.down = lost == "its node"

    costs.stage.request("check", connection="c-0", rooms=costs.positions)
    assert costs.stage.connections.rooms_of("c-0") == set(ROOMS)
    costs._track("$disconnect", "c-0")
    assert costs.stage.connections.rooms_of("c-0") == set()
