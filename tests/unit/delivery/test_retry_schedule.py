"""P6 in numbers: the docs and the template say what the code does."""

from __future__ import annotations

import pytest

from headrace.core.envelope import Envelope
from headrace.core.times import SECOND
from headrace.delivery import retry_schedule
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import RowWriter
from headrace.queues.ports import RetryRecord
from headrace.runtime.breaker import BreakerRule
from headrace.storage.ports import GuardedStore, Table
from tests.fakes.clock import FixedClock
from tests.fakes.queues import MemoryRetryLane
from tests.unit.template_stack import ROOT, TemplateStack
from tests.worlds.senders import CHAT, CLOCK, NOW, TABLE, message, sender
from tests.worlds.write_path import WritePath, received_event


def pauses_of(first_pause: int) -> list[int]:
    """The pauses between the tries, in seconds."""
    return [retry_schedule.pause_after(received, first_pause) for received in range(1, retry_schedule.RECEIVES)]


def outage_of(first_pause: int) -> float:
    """The longest outage in seconds that leaves the dead lane empty: the last try comes after the breaker's probe."""
    return sum(pauses_of(first_pause)) - BreakerRule().probe_seconds


def test_the_docs_state_the_computed_budget() -> None:
    text = " ".join((ROOT / "docs/how-to/limits-and-retries.md").read_text().replace("**", "").split())
    probe = BreakerRule().probe_seconds

    for first_pause in (15, 30):
        budget, outage = sum(pauses_of(first_pause)), outage_of(first_pause)
        assert f"{pauses_in_words(first_pause)}, together {budget} s" in text
        assert f"{outage:g} s ({outage / 60:.1f} minutes) leaves the dead lane empty" in text
    assert f"refuse for another {probe:g} s" in text


def test_the_template_describes_the_computed_budget(template_stack: TemplateStack) -> None:
    parameter = template_stack.parameters["RetryFirstPauseSeconds"]

    assert pauses_in_words(int(parameter["Default"])) in parameter["Description"]


def pauses_in_words(first_pause: int) -> str:
    return " + ".join(str(pause) for pause in pauses_of(first_pause)) + " s"


@pytest.mark.parametrize(("longer", "dead"), [(-1, 0), (1, 1)])
def test_the_stated_outage_is_the_longest_that_leaves_the_dead_lane_empty(longer: int, dead: int) -> None:
    """P6 in the worst case: it begins with a record's first try, and ends just after the breaker's probe."""
    write_path = WritePath()
    clock = FixedClock(CLOCK.now())
    lane = MemoryRetryLane(clock)
    store = GuardedStore(write_path.store, BreakerRule(monotonic=lambda: clock.now() / SECOND))
    persister = Persister(RowWriter(store, {"chat": TABLE}), lane, clock)
    event = CHAT.accept(message(), sender()).event
    lane.send([RetryRecord(Envelope("chat", "c", NOW, [event]).encode())])
    end = outage_of(15) + longer
    moments = [0, 15, 75, 315, end - 0.001, end, 1215]

    for before, moment in zip([0, *moments], moments, strict=False):
        clock.advance(moment - before)
        write_path.store.down = moment < end
        if moment == end - 0.001:
            store.put_many(
                Table(TABLE.table, (CHAT.partition_key, CHAT.sort_key)), [{"roomId": "r", "timestampSk": "t"}]
            )
        batch = lane.receive()
        kept = persister.retry_lane(received_event(batch))["batchItemFailures"]
        lane.delete([each.receipt for each in batch if {"itemIdentifier": each.id} not in kept])
    lane.receive()

    assert len(lane.dead.messages) == dead
    assert len(write_path.rows()) == 1 - dead


@pytest.mark.parametrize("first_pause", [1, 15, 900])
def test_pauses_never_decrease_or_exceed_the_longest(first_pause: int) -> None:
    pauses = pauses_of(first_pause)

    assert list(pauses) == sorted(pauses)
    assert max(pauses) <= retry_schedule.LONGEST_PAUSE
    assert len(pauses) == retry_schedule.RECEIVES - 1
