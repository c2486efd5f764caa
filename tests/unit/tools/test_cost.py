"""The cost of a stage is computed from its template, its prices and its load."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.unit.template_stack import ROOT
from tools.cost import prices, stage
from tools.cost.model import SECONDS, Load, Position, events_per_invocation, once, positions, row_of
from tools.cost.picture import draw
from tools.cost.prices import Prices
from tools.cost.stage import Stage
from tools.cost.summary import Summary
from tools.stack_reference.costs import event_units

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


def test_the_stages_are_read_from_the_template() -> None:
    dev, staging, prod = (stage.read(name) for name in stage.STAGES)

    assert (dev.instance, dev.nodes, dev.disk_gb) == ("mq.m7g.medium", 1, 200)
    assert (staging.instance, staging.nodes) == ("mq.m7g.large", 1)
    assert (prod.instance, prod.nodes, prod.disk_gb) == ("mq.m7g.large", 3, 45)
    assert dev.secrets >= 3
    assert dev.endpoints >= 4
    assert dev.alarm_metrics >= 15
    assert prod.alarm_metrics == dev.alarm_metrics + 3 * 2  # three queries, of three nodes each


def test_a_large_message_takes_a_unit_per_kilobyte_of_table_and_user_index() -> None:
    assert row_of(4_100).units == [5, 5, 1]


def test_rides_and_clicks_have_their_own_units_and_queues() -> None:
    ride, click = (Load(batch=1, http=True, stream=name) for name in ("ski", "ads"))

    assert cost(ride, "DynamoDB, 2 write units an event").load == pytest.approx(ride.events * 2 * of("dynamodb_write"))
    assert cost(click, "DynamoDB, 4 write units an event").load == pytest.approx(
        click.events * 4 * of("dynamodb_write")
    )
    assert cost(ride, "DynamoDB, last activity").load == 0


def test_storage_costs_what_the_retention_keeps() -> None:
    """Recovery is billed by the size of the table, without its indexes."""
    row, kept = row_of(250), 100 * 30 * 86_400 / 1e9
    both = sum(row.indexes) + row.table + 3 * 100

    found = cost(Load(), "DynamoDB, storage after 30 days")

    assert found.load == found.usual == pytest.approx(kept * (both * 0.25 + (row.table + 100) * 0.20))


def test_warm_tables_are_paid_once_in_prod() -> None:
    warm = (ROOT / "template.yaml").read_text().count("WarmThroughput: ")

    assert once(stage.read("prod"), prices.read()) == pytest.approx(warm * 8_000 * 0.00065)
    assert once(stage.read("dev"), prices.read()) == 0


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


def test_a_stage_without_a_minimum_pays_for_each_request() -> None:
    assert {each.minimum_units for each in map(stage.read, stage.STAGES)} == {0}
    assert not [each for each in positions(Load(), DEV, prices.read()) if "always have" in each.name]


def test_events_take_a_write_unit_of_the_table_and_of_each_index() -> None:
    """As DynamoDB Local counts them."""
    assert [int(units) for _, units in event_units()] == [3, 4, 4, 2, 4]


def test_a_frame_and_its_acknowledgement_are_two_messages() -> None:
    found = cost(Load(rate=1, batch=25), "API Gateway, requests")

    assert found.load == pytest.approx(SECONDS / 25 * 2 / 1e6)
    assert found.usual == pytest.approx(SECONDS * 2 / 1e6)


def test_a_frame_over_32_kb_counts_as_two() -> None:
    found = cost(Load(rate=1, batch=25, event_bytes=2_000), "API Gateway, requests")

    assert found.load == pytest.approx(SECONDS / 25 * 3 / 1e6)


def test_few_events_cost_a_call_per_message_and_many_share_calls() -> None:
    assert events_per_invocation(Load(rate=1, batch=1), 4) == 1
    assert events_per_invocation(Load(rate=1, batch=25), 4) == 25
    assert events_per_invocation(Load(rate=4_000, batch=1), 4) == pytest.approx(1_000 * 0.02 / (1 - 1_000 * 0.0002))
    assert events_per_invocation(Load(rate=100_000, batch=1), 4) == 200
    assert events_per_invocation(Load(rate=100, batch=1), 1, 0.5) == 50


def test_frames_of_25_cost_at_most_55_percent_of_the_usual_design() -> None:
    found = Summary(tuple(positions(Load(), stage.read("dev"), prices.read())))

    assert found.share <= 0.55
    assert found.share_without_dynamodb <= 0.10


def test_a_summary_adds_up_and_finds_the_break_even() -> None:
    summary = Summary((Position("a", rest=30), Position("b", load=2, usual=5), Position("c", 0, 3, 5, True)))

    assert (summary.rest, summary.load, summary.usual) == (30, 5, 10)
    assert (summary.share, summary.share_without_dynamodb, summary.share_with_rest) == (0.5, 0.2, 3.5)
    assert summary.break_even == 6
    assert summary.lines(10)[-1] == "break-even                     60 million events a month"


def test_a_load_that_costs_more_than_the_usual_design_has_no_break_even() -> None:
    assert Summary((Position("a", 1, 3, 2),)).break_even is None


def test_a_picture_shows_the_stage_and_the_usual_design_against_the_rate() -> None:
    texts = re.findall(r"<text[^>]*>([^<]+)</text>", draw(DEV, prices.read(), Load()))

    assert texts.count("dev, frames of 25") == texts.count("usual design") == 2
    assert "100/s" in texts
