"""Events of a stream that somebody follows are appended to the logs of their keys and pushed; others are not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.core.keys import channel_stream, stream_channel
from headrace.core.stream import TableSettings
from headrace.features.declared.live import EventHook, followed
from headrace.features.declared.stream import Events
from headrace.live.copies import parse
from headrace.live.frames import frame
from headrace.live.hints import SubscriberHints
from headrace_client import StreamFollower
from tests.fakes.clock import FixedClock
from tests.fakes.live import MemoryConnections, MemoryRoomLog
from tests.fakes.queues import MemoryLivePublisher
from tests.fakes.storage import MemoryCache
from tests.unit.features.declared.test_events import DOORS, NOW, PRODUCER, sent
from tests.worlds.senders import caller

FRONT = stream_channel("doors#front")


class World:
    def __init__(self, events: Events) -> None:
        self.clock = FixedClock(NOW)
        self.cache = MemoryCache(self.clock)
        self.log, self.connections = MemoryRoomLog(self.cache), MemoryConnections(self.clock)
        self.publisher = MemoryLivePublisher()
        self.hints = SubscriberHints(self.cache, self.connections)
        self.hook = EventHook(events, self.cache, self.log, self.hints, lambda: self.publisher, self.clock)

    def follow(self, channel: str) -> None:
        self.connections.subscribe({channel: None}, "c-1", caller("ann"), NOW // 1_000_000)
        self.cache.set_many({followed("doors"): (b"1", 60)})
        self.hints.mark_changed(channel)

    def store(self, *doors: str) -> None:
        rows = [DOORS.item(DOORS.accept(sent(door=door), PRODUCER).event, NOW, TABLE) for door in doors]
        assert self.hook.after_store(rows) == [None] * len(doors)

    def pushed(self) -> list[Any]:
        return [json.loads(each.body) for each in self.publisher.sent]


TABLE = TableSettings(table="Declared")


@pytest.fixture
def world() -> World:
    return World(DOORS)


def test_a_stream_without_followers_costs_one_read_of_the_cache(world: World) -> None:
    world.store("front", "back")

    assert (world.cache.calls, world.pushed()) == (1, [])
    assert world.log.since({FRONT: ""})[FRONT].frames is None


def test_followers_of_a_key_get_its_events_and_a_position_behind_them(world: World) -> None:
    world.follow(FRONT)
    before = world.log.since({FRONT: ""})[FRONT].tag
    world.store("front", "back", "front")

    (pushed,) = world.pushed()

    assert (pushed["type"], pushed["stream"], pushed["key"], pushed["follows"]) == ("events", "doors", "front", before)
    assert [item["door"] for item in pushed["items"]] == ["front"]
    (logged,) = world.log.since({FRONT: before})[FRONT].frames or ()
    assert json.loads(logged.items) == pushed["items"]


def test_after_events_that_could_not_be_logged_the_next_ones_say_that_some_are_missing(world: World) -> None:
    world.follow(FRONT)
    world.cache.down = True
    world.store("front")
    world.cache.down = False
    world.store("front")

    assert world.pushed()[-1]["missed"] is True


def test_a_frame_of_a_key_is_read_as_it_was_written() -> None:
    found = parse(frame(FRONT, ['{"key": "k", "timestamp": "t"}'], "p", "f"))

    assert (found.room_id, found.position, found.links) == (FRONT, "p", {"f": "p"})
    assert channel_stream(FRONT) == ("doors", "front")
    assert channel_stream("#user#doors#front") is channel_stream("front") is None


@pytest.mark.parametrize(
    ("content", "asks"),
    [
        ({"position": "p2-b", "follows": "a"}, False),
        ({"position": "p2-b"}, False),  # a part of a batch: the last one follows
        ({"position": "p3-c", "follows": "b"}, True),
        ({"missed": True}, True),
    ],
)
def test_a_follower_asks_again_only_where_a_frame_is_missing(content: dict[str, Any], asks: bool) -> None:
    follower = StreamFollower("ws://stage", lambda: "token", "doors", "front", since="p1-a")

    follower._receive({"type": "events", "stream": "doors", "key": "front", "items": [], **content})

    assert follower._gap.is_set() == asks
