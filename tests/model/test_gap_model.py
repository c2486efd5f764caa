"""P13: a follower whose connection ends again and again gets messages of every age, also slowly stored ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from headrace.api.paging.cursors import CursorSigner
from headrace.api.paging.request import PageRequest
from headrace.core import keys, times
from headrace.core.caller import Caller
from headrace.core.items import Item
from headrace.core.times import SECOND
from headrace.live import copies
from headrace.storage.ports import Failure, Table
from headrace.storage.reading import RangeQuery, Rows
from headrace.streams.chat.messages.history import History
from headrace.streams.chat.messages.positions import mark_late, parse_position, position
from headrace.streams.chat.messages.shards import MessageReader
from headrace.streams.chat.room_shards import stored
from headrace.streams.chat.rooms.access import RoomAccess
from headrace.streams.chat.rooms.rooms import CachedRooms, Room
from headrace.streams.chat.stream import item_of
from tests.fakes.chat import MemoryMemberships, MemoryRooms
from tests.fakes.clock import FixedClock
from tests.fakes.storage import MemoryReader
from tests.model.running import ASKED, run
from tests.worlds.history_world import body

START = times.parse_iso("2025-11-21T10:00:00Z")
TABLE = Table("messages", ("roomId", "timestampSk"))
BOB = Caller("bob", "Bob", frozenset({"chat:read"}), START // SECOND + 10**6)
EXAMPLES = 200
MISTAKEN_EXAMPLES = 1000
"""A mistake ends the run at the first example that shows it. 200 examples often show none."""

ages = st.sampled_from([0.0, 9.9, 10.1, 45.0, 600.0, 86_000.0, -299.0])
"""How old a message is when it is stored: fresh, from the retry lane or an import, or with a time ahead."""
writes = st.sampled_from([0.0, 10.0])
pushes = st.sampled_from([0.0, 10.0])
pauses = st.sampled_from([0.1, 5.0, 20.0, 41.0, 300.0])


@dataclass(frozen=True)
class Stored:
    """A row, and when the table and its index show it."""

    row: Item
    visible_at: int
    indexed_at: int

    def is_shown(self, now: int) -> bool:
        """Whether both show it."""
        return max(self.visible_at, self.indexed_at) <= now


class SlowTable:
    """A table whose writes take ``write_seconds``, and whose index lags behind by ``lag_seconds``."""

    def __init__(self, clock: FixedClock) -> None:
        self.clock = clock
        self.stored: list[Stored] = []
        self.write_seconds = self.lag_seconds = 0.0

    def put_many(self, _table: Table, items: Sequence[Item]) -> list[Failure | None]:
        visible_at = self.clock.now() + round(self.write_seconds * SECOND)
        indexed_at = visible_at + round(self.lag_seconds * SECOND)
        self.stored += [Stored(item, visible_at, indexed_at) for item in items]
        return [None] * len(items)

    def read(self, query: RangeQuery) -> Rows:
        now = self.clock.now()
        rows = [each.row for each in self.stored if now >= (each.indexed_at if query.index else each.visible_at)]
        return MemoryReader(lambda _: [stored(row) for row in rows]).read(query)

    def read_many(self, queries: Sequence[RangeQuery]) -> list[Rows]:
        return [self.read(query) for query in queries]


class Follower:
    """Follows the steps of docs/how-to/write-a-client.md."""

    def __init__(self, history: History, room: str, start: str) -> None:
        self._history, self._room = history, room
        self._position = start
        self.seen: set[str] = set()

    def close_gap(self, limit: int) -> None:
        since, first, place = parse_position(self._position).time, None, None
        while True:
            page = body(self._history.room(BOB, self._room, PageRequest(limit=limit, before=place), since))
            self.seen |= {item["key"] for item in page["items"]}
            first = first or page["position"]
            assert page["position"] == first
            if not page["hasMore"]:
                break
            place = page["next"]
        self._position = first

    def receive(self, frame: bytes, limit: int) -> None:
        copy = copies.parse(frame)
        self.seen |= {item["key"] for item in copy.items.values()}
        if copy.missed:
            self.close_gap(limit)


class Gaps(RuleBasedStateMachine):
    """P13: after a gap, a follower has every message that was stored meanwhile."""

    room = "kitchen"

    def __init__(self) -> None:
        super().__init__()
        self.clock = FixedClock(START)
        self.table = SlowTable(self.clock)
        rooms = MemoryRooms()
        rooms.create(Room(self.room, "open", "group", times.iso(START), "alice"))
        access = RoomAccess(CachedRooms(rooms), MemoryMemberships())
        self.history = History(MessageReader(self.table), CursorSigner(b"k" * 32), TABLE.name, self.clock, access)
        self.numbers = itertools.count()
        self.frames: list[tuple[int, bytes]] = []
        """Frames on their way, each with the time of its arrival."""
        self.is_connected = True
        self.follower = Follower(self.history, self.room, position(START))

    @rule(age=ages, writes=writes, lag=writes, push=st.none() | pushes, missed=st.booleans())
    def say(self, age: float, writes: float, lag: float, push: float | None, missed: bool) -> None:
        """A message that is stored, and perhaps pushed; the frame may say that others were missed."""
        timestamp, message_id = times.iso(self.clock.now() - round(age * SECOND)), f"m-{next(self.numbers)}"
        row: dict[str, Any] = {
            "roomId": self.room,
            "timestampSk": keys.timestamp_sk(timestamp, message_id, "a" * 12),
            "timestamp": timestamp,
            "messageId": message_id,
            "userId": "alice",
        }
        self.table.write_seconds, self.table.lag_seconds = writes, lag
        mark_late([row], self.clock.now())
        self.table.put_many(TABLE, [row])
        if push is not None:
            stored_at = self.table.stored[-1].visible_at
            (frame,) = copies.frames(self.room, [item_of(row)], position(stored_at), missed=missed)
            self.frames.append((stored_at + round(push * SECOND), frame))
        self.wait(0)

    @rule(seconds=pauses)
    def wait(self, seconds: float) -> None:
        end = self.clock.now() + round(seconds * SECOND)
        for at, frame in sorted(each for each in self.frames if each[0] <= end):
            self.clock.advance((at - self.clock.now()) / SECOND)
            if self.is_connected:
                self.follower.receive(frame, 3)
        self.frames = [each for each in self.frames if each[0] > end]
        self.clock.advance((end - self.clock.now()) / SECOND)

    @rule()
    def cut(self) -> None:
        self.is_connected = False

    @rule(limit=st.integers(1, 5))
    def check(self, limit: int) -> None:
        """After a new connection, and now and then."""
        self.is_connected = True
        self.follower.close_gap(limit)
        shown = {each.row["timestampSk"] for each in self.table.stored if each.is_shown(self.clock.now())}
        missing = shown - self.follower.seen
        assert not missing, f"missing: {sorted(missing)}"


class GapsOfShards(Gaps):
    """The same in a room with shards."""

    room = "stadium~4"


@pytest.mark.timeout(0 if ASKED else 120)
@pytest.mark.parametrize("gaps", [Gaps, GapsOfShards])
def test_after_any_gap_a_follower_has_every_message_that_was_stored_meanwhile(gaps: type[Gaps]) -> None:
    """P13."""
    run(gaps, ASKED or EXAMPLES, derandomize=not ASKED)


MISTAKES = {"positions.OVERLAP": 10 * SECOND, "positions.LATE": 60 * SECOND}


@pytest.mark.long
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_model_finds(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"headrace.streams.chat.messages.{mistake}", MISTAKES[mistake])

    with pytest.raises(AssertionError, match="missing"):
        run(Gaps, MISTAKEN_EXAMPLES, phases=[Phase.generate], report_multiple_bugs=False)
