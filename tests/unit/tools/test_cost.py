"""The cost of a stage is computed from its template, its prices and its load."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tools.cost import prices, stage
from tools.cost.model import SECONDS, Load, Position, once, positions, row_of
from tools.cost.picture import draw
from tools.cost.prices import Prices
from tools.cost.stage import Stage
from tools.cost.summary import Summary

DEV = Stage(
    "dev", "mq.m7g.medium", 1, 200, 8, 3, 31, 1, 0, {"chat": 4, "ski": 1, "ads": 1}, {"chat": 30, "ski": 730, "ads": 90}
)

SCALED = replace(DEV, minimum_units=400, scaled=11)


def cost(load: Load, name: str, at: Stage = DEV, listed: Prices | None = None) -> Position:
    (found,) = (each for each in positions(load, at, listed or prices.read()) if each.name.startswith(name))
    return found


def of(name: str) -> float:
    return prices.read()(name)


def test_prices_are_dated_and_each_has_a_source() -> None:
    listed = prices.read()

    assert (listed.date, listed.region) == ("2026-11-22", "us-east-1")
    assert all(each.source and each.dollars > 0 for each in listed.named.values())


def test_only_prices_in_use_are_named_as_not_confirmed() -> None:
    listed = prices.read()
    assert listed.unconfirmed == []

    listed("mq_storage")
    listed("sqs_request")

    assert listed.unconfirmed == ["mq_storage"]


def test_every_price_is_used() -> None:
    listed = prices.read()
    for name in stage.STAGES:
        positions(Load(listeners=1, connections=1), stage.read(name), listed)
    positions(Load(http=True), DEV, listed)
    positions(Load(http=True), SCALED, listed)
    once(DEV, listed)

    assert listed.used == listed.named.keys()


def test_a_large_message_takes_a_unit_per_kilobyte_of_table_and_user_index() -> None:
    assert row_of(4_100).units == [5, 5, 1]


def test_rides_and_clicks_have_their_own_units_and_queues() -> None:
    ride, click = (Load(batch=1, http=True, stream=name) for name in ("ski", "ads"))

    assert cost(ride, "DynamoDB, 2 write units an event").load == pytest.approx(ride.events * 2 * of("dynamodb_write"))
    assert cost(click, "DynamoDB, 4 write units an event").load == pytest.approx(
        click.events * 4 * of("dynamodb_write")
    )
    assert cost(ride, "DynamoDB, last activity").load == 0


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


def test_a_frame_over_32_kb_counts_as_two() -> None:
    found = cost(Load(rate=1, batch=25, event_bytes=2_000), "API Gateway, requests")

    assert found.load == pytest.approx(SECONDS / 25 * 3 / 1e6)


def test_frames_of_25_cost_at_most_55_percent_of_the_usual_design() -> None:
    found = Summary(tuple(positions(Load(), stage.read("dev"), prices.read())))

    assert found.share <= 0.55
    assert found.share_without_dynamodb <= 0.10


def test_a_load_that_costs_more_than_the_usual_design_has_no_break_even() -> None:
    assert Summary((Position("a", 1, 3, 2),)).break_even is None


def test_a_picture_shows_the_stage_and_the_usual_design_against_the_rate() -> None:
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", draw(DEV, prices.read(), Load()))

    assert texts.count("dev, frames of 25") == texts.count("usual design") == 2
    assert "100/s" in texts
