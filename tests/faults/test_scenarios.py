"""Three fault scenarios of ``make faults``, and one with a table that loses rows."""

from __future__ import annotations

import pytest
from aiohttp import web

from faults.harness import chat_load
from faults.harness.harness import PICTURES, Harness
from faults.proxies.http_proxy import Call, Forward, answer
from faults.scenarios import broker, store

pytestmark = pytest.mark.timeout(300)
"""Longer than the lanes may take to drain (``PATIENCE``), so that a scenario that fails says why."""


def test_events_whose_confirm_was_lost_are_stored_once(harness: Harness) -> None:
    """P1, P3."""
    row = broker.confirms_lost(harness)

    assert row.good, row
    timeline = (harness.folder / PICTURES / "confirms-lost.svg").read_text(encoding="utf-8")
    assert f"{row.accepted:,} accepted, {row.stored:,} stored, 0 dead, lost 0" in timeline
    assert all(label in timeline for label in ("accepted", "stored", "main", "retry", "dead", "outage"))


def test_a_batch_whose_writer_is_killed_is_stored_once(harness: Harness) -> None:
    """P1, P3."""
    row = store.persist_killed(harness)

    assert row.good, row


def test_eight_kinds_of_poison_are_dead_in_seconds(harness: Harness) -> None:
    """P4, P5."""
    row = store.poison_of_all_kinds(harness)

    assert row.good, row
    assert row.dead == 8 * store.SETS_OF_POISON


async def loses_rows(call: Call, forward: Forward) -> web.Response:
    """Report rows as stored without storing them."""
    if call.action == "BatchWriteItem":
        return answer({"UnprocessedItems": {}})
    return await forward(call.body)


def test_the_ledger_finds_rows_that_a_table_did_not_store(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_load, "READ_PATIENCE", 1.0)

    with harness.scenario("forgotten") as run:
        harness.services.dynamodb.fault = loses_rows
        run.load.send_one("hello")
        row = run.finish(heal=False)

    assert (row.accepted, row.lost, row.good) == (1, 1, False)
