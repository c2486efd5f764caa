"""A worker's users play a phase together: they begin at once, share the events, and stop together."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import pytest

from loadtest.chat.analytics_check import AnalyticsCheck
from loadtest.checker import durability_probe, readback
from loadtest.checker.readback import drain_and_read
from loadtest.client.credentials import Sender
from loadtest.client.target import Target
from loadtest.runs import chat_work
from loadtest.runs.chat_work import ChatWork
from loadtest.runs.phase_run import PhaseRun
from loadtest.runs.place import Place
from loadtest.shapes.shape import Load, Phase
from localstage.client.errors import ClientError

PHASE = Phase("test", (Load("WebSocketWriter", 3, events=100, batch=7),), people=50, joins=0.3, leaves=0.3)
TRUSTED = Sender("producer", True, lambda: "t")


def status(waiting: int) -> dict[str, Any]:
    retry = {"state": "holding", "visible": waiting} if waiting else {"state": "empty"}
    lanes = {"main": {"queues": {"chat": {"ready": 0}}}, "retry": retry, "dead": {"state": "empty"}, "parked": {}}
    return {"lanes": lanes}


class Rooms:
    """The room histories and analytics of a stage in memory.

    ``down``: nothing can be read. ``loses``: the ends of ids. ``uncounted`` messages are missing in the analytics.
    ``waiting`` messages are in the retry lane.
    """

    def __init__(self) -> None:
        self.items: list[dict[str, Any]] = []
        self.down = False
        self.loses: str | tuple[str, ...] = "none"
        self.uncounted = 0
        self.waiting = 0

    def get(self, path: str, query: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
        if path == "/status":
            return status(self.waiting)
        room = query.get("roomId")
        counted = [item for item in self.items[self.uncounted :] if room in (None, item["roomId"])]
        by_user, by_room = (Counter(item[name] for item in counted) for name in ("userId", "roomId"))
        top = sorted(by_user.items(), key=lambda pair: (-pair[1], pair[0]))[: int(query.get("top", 10))]
        assert path in ("/analytics/window", "/analytics/active-users")
        return {
            "totalMessages": len(counted),
            "uniqueUsers": len(by_user),
            "topUsers": [{"userId": name, "messages": count} for name, count in top],
            "topRooms": [{"roomId": name, "messages": count} for name, count in by_room.items()],
        }

    def room_page(self, room: str, **_: Any) -> dict[str, Any]:
        items = [item for item in list(self.items) if item["roomId"] == room]
        return {"items": [item for item in items if not item["messageId"].endswith(self.loses)]}

    def walk_room(self, room: str, **_: Any) -> Iterator[list[dict[str, Any]]]:
        if self.down:
            raise ClientError("HTTP 0 unreachable")
        yield sorted(self.room_page(room)["items"], key=lambda item: (item["timestamp"], item["messageId"]))[::-1]

    def close(self) -> None:
        """Nothing is open."""


class Stage(Target):
    rooms = Rooms()

    def reader(self, scope: str = "chat:read") -> Any:
        return self.rooms

    def http(self, user: str, *scopes: str, **_: Any) -> Any:
        assert scopes in (("analytics:read",), ("ops",))
        return self.rooms


@pytest.fixture
def stage() -> Stage:
    made = Stage("http://127.0.0.1:1", "ws://127.0.0.1:1", "http://127.0.0.1:1/token")
    Stage.rooms = Rooms()
    return made


def send(run: PhaseRun, rooms: Rooms, count: int, sender: Sender = TRUSTED) -> None:
    assert isinstance(run.work, ChatWork)
    messages = run.work.make(sender, 0, count)
    run.work.checker.attempted(messages)
    for event in messages:
        rooms.items.append(event.event() | {"messageType": event.message_type, "userId": event.user_id})
    run.work.checker.accepted(messages, ["main"] * count, 0.01)


def user(run: PhaseRun, act: Callable[[PhaseRun, int], object], kind: str = "WebSocketWriter") -> threading.Thread:
    run.join(kind)

    def play() -> None:
        run.ready()
        while (arrival := run.take(kind)) is not None:
            act(run, arrival.events)
        run.leave()

    return threading.Thread(target=play, daemon=True)


def play(stage: Stage, phase: Phase, act: Callable[[PhaseRun, int], object]) -> dict[str, Any]:
    run = PhaseRun(phase, Place("r", 0), stage, None)
    for thread in [user(run, act) for _ in range(3)]:
        thread.start()
    return run.run()


def test_missing_messages_are_lost_only_as_far_as_the_lanes_do_not_hold_them(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_work, "drain_and_read", partial(drain_and_read, patience=0.1))
    monkeypatch.setattr(readback, "WAITING_WITHIN", 0.5)
    monkeypatch.setattr(durability_probe, "GIVE_UP", 0.5)
    stage.rooms.loses = ("-0", "-1", "-2")
    stage.rooms.waiting = 2

    part = play(
        stage,
        replace(PHASE, loads=(Load("WebSocketWriter", 3, events=9),)),
        lambda run, count: send(run, stage.rooms, count),
    )

    assert (part["found"]["stored"], part["found"]["waiting"], part["found"]["lost"]) == (6, 2, 1)


def test_messages_that_the_analytics_do_not_count_are_wrong(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_work, "AnalyticsCheck", partial(AnalyticsCheck, patience=0.0))
    stage.rooms.uncounted = 1

    part = play(stage, PHASE, lambda run, count: send(run, stage.rooms, count))

    room = stage.rooms.items[0]["roomId"]
    count = len(stage.rooms.room_page(room)["items"])
    assert part["found"]["lost"] == 0
    assert f"messages of a room {room}: {count - 1} instead of {count}" in part["found"]["examples"]["wrong"]
    assert part["found"]["wrong"] == len(part["found"]["examples"]["wrong"])


def test_a_stage_that_cannot_be_read_at_the_end_is_a_problem_and_no_verdict(stage: Stage) -> None:
    stage.rooms.down = True

    part = play(stage, PHASE, lambda run, count: send(run, stage.rooms, count))

    assert (part["found"], part["problems"], part["sent"]["accepted"]) == (None, ["HTTP 0 unreachable"], 100)
