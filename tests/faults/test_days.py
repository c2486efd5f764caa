"""A short selection of the days of ``make faults``."""

from __future__ import annotations

from faults import days_broker, days_store
from faults.world import World


def test_events_whose_confirm_was_lost_are_stored_once(world: World) -> None:
    """P1, P3."""
    row = days_broker.confirms_lost(world)

    assert row.good, row


def test_a_batch_whose_writer_is_killed_is_stored_once(world: World) -> None:
    """P1, P3."""
    row = days_store.persist_killed(world)

    assert row.good, row


def test_poison_of_eight_kinds_is_dead_in_seconds_and_delays_nobody(world: World) -> None:
    """P4, P5."""
    row = days_store.poison_of_all_kinds(world)

    assert row.good, row
    assert row.dead == 8 * days_store.SETS_OF_POISON
