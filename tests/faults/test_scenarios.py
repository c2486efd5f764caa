"""A short selection of the scenarios of ``make faults``."""

from __future__ import annotations

import pytest
from aiohttp import web

from faults.harness import harness as harness_module
from faults.harness.harness import Harness
from faults.proxies.http_proxy import Call, Forward
from faults.proxies.proxy_faults import JSON
from faults.scenarios import broker, store


def test_events_whose_confirm_was_lost_are_stored_once(harness: Harness) -> None:
    """P1, P3."""
    row = broker.confirms_lost(harness)

    assert row.good, row


def test_a_batch_whose_writer_is_killed_is_stored_once(harness: Harness) -> None:
    """P1, P3."""
    row = store.persist_killed(harness)

    assert row.good, row


def test_poison_of_eight_kinds_is_dead_in_seconds(harness: Harness) -> None:
    """P4, P5."""
    row = store.poison_of_all_kinds(harness)

    assert row.good, row
    assert row.dead == 8 * store.SETS_OF_POISON


async def forgets(call: Call, forward: Forward) -> web.Response:
    """Claims that rows are stored without storing them."""
    if call.action == "BatchWriteItem":
        return web.Response(body=b'{"UnprocessedItems": {}}', content_type=JSON)
    return await forward(call.body)


def test_the_ledger_notices_a_table_that_only_claims_to_store(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness_module, "READ_PATIENCE", 1.0)

    with harness.scenario("forgotten") as run:
        harness.services.dynamodb.fault = forgets
        run.load.send_one("hello")
        row = run.finish(heal=False)

    assert (row.accepted, row.lost, row.good) == (1, 1, False)
