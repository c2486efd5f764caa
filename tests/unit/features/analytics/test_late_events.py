"""A late event marks the analytics slots that were already counted, so that they are counted again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from headrace.core import keys, times
from headrace.core.errors import FollowUpUnavailable
from headrace.core.items import Item
from headrace.delivery.persister import Persister
from headrace.delivery.retry_schedule import RECEIVES
from headrace.delivery.row_writer import RowWriter
from headrace.features.analytics import generations, late_events
from headrace.features.analytics.generations import CHANGED
from headrace.features.analytics.late_events import mark
from headrace.features.analytics.time_slots import Slot
from headrace.runtime.observability import Meter
from headrace.stage import chosen, registry
from headrace.stage.registry import STREAMS
from headrace.streams.chat.stream import MESSAGE
from tests.fakes.clock import FixedClock
from tests.fakes.storage import MemoryCache
from tests.worlds.senders import CHAT, TABLE, caller, message
from tests.worlds.slot_world import NOW as NOW_MICROS
from tests.worlds.slot_world import SETTLE, total, world_with
from tests.worlds.write_path import WritePath

START = "2025-11-21T10:00:58.000000Z"
EARLY, NOW = "2025-11-21T08:59:59.999999Z", "2025-11-21T10:00:57.000000Z"


class HookWorld:
    """The hook with its cache and clock."""

    def __init__(self) -> None:
        self.clock = FixedClock(START)
        self.cache = MemoryCache(self.clock)
        self.late = partial(mark, CHAT, self.cache, self.clock)

    def stored(self, *timestamps: str) -> Sequence[FollowUpUnavailable | None]:
        items: list[Item] = [
            {"roomId": "kitchen", "timestampSk": keys.timestamp_sk(each, "m", "t" * 12)} for each in timestamps
        ]
        return self.late(items)

    def changed(self, *slots: Slot) -> list[bool]:
        found = self.cache.get_many([generations.slot_generation("chat", slot) for slot in slots])
        return [value == CHANGED for value in found]


def slots(timestamp: str) -> list[Slot]:
    second = times.micros_of(timestamp) // times.SECOND
    return [Slot(second - second % step, step) for step in (10, 60, 600, 3600, 86400)]


def test_an_event_that_is_stored_at_once_marks_no_slot() -> None:
    world = HookWorld()

    assert world.stored(NOW, "2025-11-21T10:03:00.000000Z") == [None, None]

    assert world.cache.calls == 0


def test_a_late_event_marks_exactly_its_slots_that_have_ended() -> None:
    world = HookWorld()

    assert world.stored(NOW, EARLY) == [None, None]

    assert world.changed(*slots(EARLY)) == [True, True, True, True, False]
    assert world.changed(*slots(NOW)) == [False] * 5


def test_a_mark_expires_after_the_settling_time() -> None:
    world = HookWorld()
    world.stored(EARLY)

    world.clock.advance(SETTLE + 1)
    assert world.changed(slots(EARLY)[0]) == [True]
    world.clock.advance(2)
    assert world.changed(slots(EARLY)[0]) == [False]


@pytest.mark.parametrize(("seconds", "is_late"), [(2.9, False), (3.1, True)])
def test_an_event_is_late_when_its_slots_may_be_closed_by_any_clock(seconds: float, is_late: bool) -> None:
    """Slots close 2 s after their end, and clocks differ by up to 1 s."""
    world = HookWorld()
    world.clock.advance(seconds)  # 10:01:00.9 or 10:01:01.1

    world.stored("2025-11-21T10:00:59.000000Z")

    assert world.changed(*slots("2025-11-21T10:00:59.000000Z")[:3]) == [is_late, is_late, False]


class LateWritePath(WritePath):
    """A write path whose persister marks late events, an hour after they were accepted."""

    def __init__(self) -> None:
        super().__init__()
        self.world = HookWorld()
        self.world.clock.advance(3600)
        tables = dict.fromkeys(STREAMS, TABLE)
        self.persister = Persister(
            RowWriter(self.store, tables, ((MESSAGE, self.world.late),)), self.retry, self.world.clock
        )

    def accept(self, *messages: dict[str, Any]) -> None:
        self.acceptor.accept(CHAT, caller(), list(messages), "c", Meter())


def test_an_event_that_is_never_marked_is_counted_as_dead(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """P4: it stays in the dead lane until the cache works again and an operator redrives it."""
    write_path = LateWritePath()
    write_path.world.cache.down = True
    write_path.accept(message(messageId="m-1"))
    write_path.persist(*write_path.broker.bodies())

    assert write_path.persist_retry(*write_path.retry.records, received=RECEIVES) == ["sqs-0"]

    written = capsys.readouterr().out.replace(" ", "")
    assert '"Dead":[1.0]' in written
    assert '"NotFollowedUp":[1.0]' in written
    assert '"NotStored"' not in written


def test_kept_counts_are_right_when_analytics_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a stage leaves analytics out, what is late is still marked."""
    world = world_with(NOW_MICROS - 5 * times.MINUTE)
    assert total(world) == 1
    monkeypatch.setattr(chosen, "CHOSEN", ())
    monkeypatch.setattr(late_events, "cache", lambda: world.cache)
    monkeypatch.setattr(late_events, "clock", lambda: world.clock)

    world.late = registry.late(CHAT)
    world.put(world.row(NOW_MICROS - 4 * times.MINUTE, message_id="late"))

    world.clock.advance(SETTLE + 3)
    assert total(world) == 2
