"""The cost of a stage is computed from its template, its prices and its load."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tools.cost import prices, stage
from tools.cost.model import Item, Load, items, once
from tools.cost.prices import Prices
from tools.cost.stage import Stage
from tools.cost.summary import Summary

DEV = Stage(
    "dev", "mq.m7g.medium", 1, 200, 8, 3, 31, 1, 0, {"chat": 4, "ski": 1, "ads": 1}, {"chat": 30, "ski": 730, "ads": 90}
)

SCALED = replace(DEV, minimum_units=400, scaled=11)


def cost(load: Load, name: str, at: Stage = DEV, listed: Prices | None = None) -> Item:
    (found,) = (each for each in items(load, at, listed or prices.read()) if each.name.startswith(name))
    return found


def of(name: str) -> float:
    return prices.read()(name)


def test_every_price_is_used() -> None:
    listed = prices.read()
    for name in stage.STAGES:
        items(Load(listeners=1), stage.read(name), listed)
    items(Load(http=True), DEV, listed)
    items(Load(http=True), SCALED, listed)
    once(DEV, listed)

    assert listed.used == listed.named.keys()


def test_provisioned_units_are_paid_at_rest_and_above_that_by_their_use() -> None:
    """At 700 clicks/s, the table and each index need 1,000 units."""
    clicks = Load(rate=700.0, batch=1, http=True, stream="ads")
    paid = cost(clicks, "DynamoDB, units that the tables", SCALED)
    written = cost(clicks, "DynamoDB, 4 write units an event", SCALED)

    assert paid.rest == pytest.approx(11 * 400 * (0.00065 + 0.00013) * 730)
    assert written.load == pytest.approx(4 * 600 * 0.00065 * 730)
    assert written.usual == pytest.approx(clicks.events * 4 * of("dynamodb_write"))
    assert cost(replace(clicks, rate=200.0), "DynamoDB, 4 write units an event", SCALED).load == 0
    assert cost(clicks, "alarms that scale", SCALED).rest == pytest.approx(11 * 2 * 4 * of("alarm_metric"))


def test_frames_of_25_cost_at_most_55_percent_of_the_usual_design() -> None:
    found = Summary(tuple(items(Load(), stage.read("dev"), prices.read())))

    assert found.share <= 0.55
    assert found.share_without_dynamodb <= 0.10
