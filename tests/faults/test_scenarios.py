"""A short selection of the days of ``make faults``."""

from __future__ import annotations

import pytest
from aiohttp import web

from faults import harness as worlds
from faults.harness import World
from faults.proxies.http_proxy import Call, Forward
from faults.proxies.proxy_faults import JSON
from faults.scenarios import broker as days_broker
from faults.scenarios import store as days_store


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


async def forgets(call: Call, forward: Forward) -> web.Response:
    """Says that it stored, and did not."""
    if call.action == "BatchWriteItem":
        return web.Response(body=b'{"UnprocessedItems": {}}', content_type=JSON)
    return await forward(call.body)


def test_a_table_that_stores_nothing_and_says_it_did_is_found_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worlds, "READ_PATIENCE", 1.0)

    with world.day("forgotten") as day:
        world.backing.judge_dynamodb(forgets)
        day.load.send_one("hello")
        row = day.end(heal=False)

    assert (row.accepted, row.lost, row.good) == (1, 1, False)
