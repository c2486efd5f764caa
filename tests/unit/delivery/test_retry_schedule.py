"""P6 in numbers: the docs and the template say what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from headrace.core.envelope import Envelope
from headrace.core.times import SECOND
from headrace.delivery import retry_schedule
from headrace.delivery.persister import Persister
from headrace.queues.ports import RetryRecord
from headrace.runtime.breaker import BreakerRule
from headrace.storage.breaker import GuardedStore
from headrace.storage.ports import Table
from headrace.streams.chat.stream import CHAT
from ops.__main__ import cli
from ops.budget import Budget
from tests.fakes.clock import FixedClock
from tests.fakes.queues import MemoryRetryLane
from tests.unit.template_stack import ROOT, TemplateStack
from tests.worlds.senders import CLOCK, NOW, TABLE, message, sender
from tests.worlds.write_path import WritePath, received_event


def test_the_command_prints_the_budget_of_the_defaults() -> None:
    printed = CliRunner().invoke(cli, ["budget"]).output

    assert "15 + 60 + 240 + 900 s" in printed
    assert "1215 s (20.2 minutes)" in printed
    assert "shorter than 1205 s (20.1 minutes): the dead lane stays empty" in printed


def test_the_command_prints_the_budget_of_any_parameter() -> None:
    printed = CliRunner().invoke(cli, ["budget", "--first-pause", "30"]).output

    assert "30 + 120 + 480 + 900 s" in printed
    assert "1530 s (25.5 minutes)" in printed


@pytest.mark.parametrize("page", ["docs/how-to/operate.md"])
def test_the_docs_state_the_computed_budget(page: str) -> None:
    text = Path(ROOT / page).read_text()

    budget = Budget.of_stage("default")
    assert budget.pauses in text
    assert budget.total in text
    assert f"an outage shorter than {budget.outage} leaves the dead lane empty" in " ".join(
        text.replace("**", "").split()
    )
    assert f"refuse for another {budget.probe_seconds:g} s" in text


def test_the_template_describes_the_computed_budget(template_stack: TemplateStack) -> None:
    parameter = template_stack.parameters["RetryFirstPauseSeconds"]

    assert Budget(int(parameter["Default"]), 0, 0).pauses in parameter["Description"]


def test_a_record_is_dead_at_once_after_its_last_try() -> None:
    assert retry_schedule.pause_after(retry_schedule.RECEIVES, 15) == 0
    assert retry_schedule.pause_after(retry_schedule.RECEIVES - 1, 15) == retry_schedule.LONGEST_PAUSE


@pytest.mark.parametrize(("longer", "dead"), [(-1, 0), (1, 1)])
def test_the_stated_outage_is_the_longest_that_leaves_the_dead_lane_empty(longer: int, dead: int) -> None:
    """P6 in the worst case: it begins with a record's first try, and ends just after the breaker's probe."""
    write_path, breaking = WritePath(), BreakerRule()
    clock = FixedClock(CLOCK.now())
    lane = MemoryRetryLane(clock)
    store = GuardedStore(write_path.store, breaking, None, lambda: clock.now() / SECOND)
    persister = Persister(store, lane, {"chat": TABLE}, clock)
    event = CHAT.accept(message(), sender()).event
    lane.send([RetryRecord(Envelope("chat", "c", NOW, [event]).encode())])
    end = retry_schedule.outage_seconds(15, breaking.probe_seconds) + longer
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
    pauses = retry_schedule.pauses(first_pause)

    assert list(pauses) == sorted(pauses)
    assert max(pauses) <= retry_schedule.LONGEST_PAUSE
    assert len(pauses) == retry_schedule.RECEIVES - 1
