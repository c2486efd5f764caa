"""Messages are stored late, again and by new environments while a room's days change: no reader sees what is too old.

What must be seen is seen too: a message that was never older than the days that the room had since it was stored. When
the room is deleted, nothing of it is seen, whatever is stored then (P18).
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import NotFound
from headrace.core.times import DAY, HOUR, SECOND, iso, micros_of
from headrace.streams.chat.rooms.retention import RETENTION_SECONDS
from tests.model.running import settings_of
from tests.worlds.retention_world import ROOM, RetentionWorld
from tests.worlds.senders import TABLE

EXAMPLES = 300
STEPS = ("say", "say", "say", "import", "store", "store", "again", "keep", "keep", "wait", "wait", "persist", "read")
DELETED = 0.02
"""The chance of each step that the room is deleted."""


class Stage(RetentionWorld):
    """``kept`` has the time of each change of the room's days, and the days from then on."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[dict[str, Any]] = []
        self.waiting: list[dict[str, Any]] = []
        self.stored: list[dict[str, Any]] = []
        self.since: dict[str, int] = {}
        self.kept: list[tuple[int, float]] = [(0, TABLE.retention_days + 1)]
        self.is_deleted = False

    def step(self, of: Random) -> None:
        if not self.is_deleted and of.random() < DELETED:
            self.rooms.delete(ROOM, iso(self.clock.now()))
            self.is_deleted = True
            self.wait(RETENTION_SECONDS + 1)
        match of.choice(STEPS):
            case "say":
                self.say(0)
            case "import":
                self.say(of.choice([0.01, 0.5, 0.99, 1.5, 3.0, 7.0]))
            case "store" if self.waiting:
                self.put(self.waiting.pop(of.randrange(len(self.waiting))))
            case "again" if self.stored:
                self.put(of.choice(self.stored))
            case "keep" if not self.is_deleted:
                days = of.choice([1, 2, 3, 5, None])
                self.keep(days)
                self.kept.append((self.clock.now(), days or TABLE.retention_days + 1))
                self.wait(RETENTION_SECONDS + 1)  # until readers know it, and what was said before is late
            case "wait":
                self.wait(of.choice([1, 60, HOUR / SECOND, 5 * HOUR / SECOND, DAY / SECOND]))
            case "persist":
                self.persist = self.new_persist()
            case "read":
                self.read = self.new_reader()

    def say(self, days: float) -> None:
        self.waiting.append(self.message(len(self.said), days=days))
        self.said.append(self.waiting[-1])

    def put(self, event: dict[str, Any]) -> None:
        (row,) = self.store(event)
        self.stored.append(event)
        self.since.setdefault(event["message"], self.clock.now())
        if self.is_deleted:
            return
        assert set(self.pushed()) <= set(self.texts())
        days = self.rooms.rows[event["roomId"]].retention.days
        soonest = self.clock.now() // SECOND
        if days is not None:
            assert row["expiresAt"] <= max(soonest, (micros_of(event["timestamp"]) + days * DAY) // SECOND)

    def compare(self) -> None:
        if self.is_deleted:
            with pytest.raises(NotFound):
                self.texts()
            assert self.of_user("alice", "bob") == self.of_user("alice", "alice") == self.rooms_of("bob") == []
            return
        now, shown = self.clock.now(), self.texts()
        ends = [*(at for at, _ in self.kept[1:]), now]
        oldest = max(iso(max(0, end - round(days * DAY))) for (_, days), end in zip(self.kept, ends, strict=True))
        may = {each["message"]: each["timestamp"] for each in self.stored if each["timestamp"] >= oldest}
        must = set()
        for text, timestamp in may.items():
            fewest = min(days for (_, days), end in zip(self.kept, ends, strict=True) if end >= self.since[text])
            if micros_of(timestamp) + fewest * DAY > now + SECOND:
                must.add(text)
        assert must <= set(shown) <= may.keys()
        assert shown == self.of_user("alice", "bob") == self.of_user("alice", "alice")
        (conversation,) = self.rooms_of("bob")
        assert conversation["unread"] == len(shown)
        assert (conversation["lastMessage"] or {}).get("message") == (shown[-1] if shown else None)


@settings_of(EXAMPLES)
@given(st.integers(0, 2**32))
def test_no_reader_sees_a_message_that_is_older_than_its_room_keeps(seed: int) -> None:
    of, stage = Random(seed), Stage()
    for _ in range(40):
        stage.step(of)
        stage.compare()
