"""Three fault scenarios of ``make faults``."""

from __future__ import annotations

import pytest

from faults.harness.harness import PICTURES, Harness
from faults.scenarios import broker, store

pytestmark = pytest.mark.timeout(300)
"""Longer than the lanes may take to drain (``PATIENCE``), so that a scenario that fails says why."""


def test_events_whose_confirm_was_lost_are_stored_once(harness: Harness) -> None:
    """P1, P3."""
    row = broker.confirms_lost(harness, resets=5)

    assert row.good, row
    timeline = (harness.folder / PICTURES / "confirms-lost.svg").read_text(encoding="utf-8")
    assert f"{row.accepted:,} accepted, {row.stored:,} stored, 0 dead, lost 0" in timeline
    assert all(label in timeline for label in ("accepted", "stored", "main", "retry", "dead", "outage"))


def test_a_batch_whose_writer_is_killed_is_stored_once(harness: Harness) -> None:
    """P1, P3."""
    row = store.persist_killed(harness, kills=4)

    assert row.good, row


def test_events_are_stored_although_the_broker_was_down_from_the_first_on(harness: Harness) -> None:
    """P1, P6: the status says so."""
    row = broker.broker_down_from_start(harness)

    assert row.good, row
    assert row.dead == 0
