"""What persist_events does for answers that are already counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headrace.analytics import generations
from headrace.analytics.generations import CHANGED
from headrace.analytics.late_events import LateEvents
from headrace.analytics.time_slots import Slot
from headrace.core import keys, times
from headrace.core.envelope import Envelope
from headrace.core.errors import FollowUpUnavailable
from headrace.core.items import Item
from headrace.persist.persister import Persister
from headrace.persist.retry_schedule import RECEIVES
from headrace.queues.ports import RetryRecord
from headrace.runtime.observability import Meter
from headrace.streams.chat.stream import CHAT
from headrace.streams.registry import STREAMS
from tests.fakes.clock import FixedClock
from tests.fakes.storage import MemoryCache
from tests.worlds.senders import TABLE, caller, message
from tests.worlds.write_path import Lanes

SETTLE = 10
START = "2025-11-21T10:00:58.000000Z"
EARLY, NOW = "2025-11-21T08:59:59.999999Z", "2025-11-21T10:00:30.000000Z"


class Marks:
    """A listener with its cache and clock."""

    def __init__(self) -> None:
        self.clock = FixedClock(START)
        self.cache = MemoryCache(self.clock)
        self.late = LateEvents(self.cache, self.clock, SETTLE)

    def stored(self, *timestamps: str) -> Sequence[FollowUpUnavailable | None]:
        items: list[Item] = [
            {"roomId": "kitchen", "timestampSk": keys.timestamp_sk(each, "m", "t" * 12)} for each in timestamps
        ]
        return self.late.stored(CHAT, items)

    def changed(self, *slots: Slot) -> list[bool]:
        found = self.cache.get_many([generations.slot_generation("chat", slot.step, slot.start) for slot in slots])
        return [value == CHANGED for value in found]


def slots(timestamp: str) -> list[Slot]:
    second = times.micros_of(timestamp) // times.SECOND
    return [Slot(second - second % step, step) for step in (60, 600, 3600, 86400)]


def test_an_event_of_a_minute_that_is_not_over_costs_nothing() -> None:
    marks = Marks()

    assert marks.stored(NOW, "2025-11-21T10:03:00.000000Z") == [None, None]

    assert marks.cache.calls == 0


def test_a_late_event_marks_every_slot_it_belongs_to_that_is_over_and_no_other() -> None:
    marks = Marks()

    assert marks.stored(NOW, EARLY) == [None, None]

    assert marks.changed(*slots(EARLY)) == [True, True, True, False]
    assert marks.changed(*slots(NOW)) == [False, False, False, False]


def test_events_of_one_minute_cost_one_round_trip_however_many() -> None:
    marks = Marks()

    marks.stored(*[EARLY] * 500, *["2025-11-20T10:00:30.000000Z"] * 500)

    assert marks.cache.calls == 1


def test_a_mark_outlasts_the_settling_time_and_then_goes() -> None:
    marks = Marks()
    marks.stored(EARLY)

    marks.clock.advance(SETTLE + 1)
    assert marks.changed(slots(EARLY)[0]) == [True]
    marks.clock.advance(2)
    assert marks.changed(slots(EARLY)[0]) == [False]


def test_an_event_that_is_stored_just_after_its_minute_is_late_also_by_a_clock_that_is_a_little_slow() -> None:
    marks = Marks()
    marks.clock.advance(61.2)  # 10:01:59.2

    marks.stored("2025-11-21T10:01:59.000000Z")

    assert marks.changed(slots("2025-11-21T10:01:59.000000Z")[0]) == [True]


def test_while_the_cache_is_away_only_late_events_fail() -> None:
    marks = Marks()
    marks.cache.down = True

    outcomes = marks.stored(NOW, EARLY)

    assert outcomes[0] is None
    assert isinstance(outcomes[1], FollowUpUnavailable)


def test_streams_without_slots_are_left_alone() -> None:
    marks = Marks()
    marks.cache.down = True

    assert marks.late.stored(STREAMS["probe"], [{"timestampSk": EARLY}]) == [None]


class LateLanes(Lanes):
    """Lanes whose persister marks late events, an hour after they were accepted."""

    def __init__(self) -> None:
        super().__init__()
        self.marks = Marks()
        self.marks.clock.advance(3600)
        tables = dict.fromkeys(STREAMS, TABLE)
        self.persister = Persister(self.store, self.retry, tables, self.marks.clock, after=(self.marks.late,))

    def accept(self, *messages: dict[str, Any]) -> None:
        self.acceptor.accept(CHAT, caller(), list(messages), "c", Meter())


def test_a_late_event_that_could_not_be_marked_is_stored_and_marked_when_it_comes_again() -> None:
    lanes = LateLanes()
    lanes.marks.cache.down = True
    lanes.accept(message(messageId="m-1"), message(messageId="m-2"))

    lanes.persist(*lanes.broker.bodies())

    assert len(lanes.rows()) == 2
    assert [event["messageId"] for event in lanes.retried()] == ["m-1", "m-2"]
    assert lanes.persist_retry(*lanes.retry.records) == ["sqs-0"]
    lanes.marks.cache.down = False
    assert lanes.persist_retry(*lanes.retry.records, received=2) == []
    assert len(lanes.rows()) == 2
    assert lanes.marks.changed(slots(lanes.rows()[0]["timestamp"])[0]) == [True]


def test_a_cache_that_is_away_holds_up_no_other_record_of_the_retry_lane() -> None:
    """Unlike an unavailable table, an unavailable cache delays nothing."""
    lanes = LateLanes()
    lanes.marks.cache.down = True
    now = times.iso(lanes.marks.clock.now())
    late, fresh = (
        Envelope("chat", "c", now, [{**stamped, "messageId": name, "timestamp": at}])
        for stamped in [_stamped_event()]
        for name, at in (("late", EARLY), ("fresh", now))
    )

    kept = lanes.persist_retry(*(RetryRecord(each.encode(), {}) for each in (late, fresh)), received=2)

    assert kept == ["sqs-0"]
    assert {row["messageId"] for row in lanes.rows()} == {"late", "fresh"}


def test_an_event_that_is_never_marked_is_counted_as_dead_like_any_other(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """P4: it lies in the dead lane, with its alarm, until the cache is back and somebody redrives it."""
    lanes = LateLanes()
    lanes.marks.cache.down = True
    lanes.accept(message(messageId="m-1"))
    lanes.persist(*lanes.broker.bodies())

    assert lanes.persist_retry(*lanes.retry.records, received=RECEIVES) == ["sqs-0"]

    written = capsys.readouterr().out.replace(" ", "")
    assert '"Dead":[1.0]' in written
    assert '"NotFollowedUp":[1.0]' in written
    assert '"NotStored"' not in written


def _stamped_event() -> dict[str, Any]:
    lanes = Lanes()
    lanes.acceptor.accept(CHAT, caller(), [message()], "c", Meter())
    return lanes.published()[0]
