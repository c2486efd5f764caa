"""The plan of a rate says what is full first, from the parameters of a stage and the cost model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.template_stack import ROOT
from tools.cost import stage
from tools.cost.model import Load
from tools.plan.__main__ import main
from tools.plan.parts import PAGES, Part, broker, parts

DEV, PROD = stage.read("dev"), stage.read("prod")
RIDES, CLICKS = (Load(batch=1, http=True, stream=name) for name in ("ski", "ads"))


def part(name: str, load: Load, at: stage.Stage = PROD, hot: float = 0.01) -> Part:
    (found,) = (each for each in parts(load, at, hot) if each.name == name)
    return found


def test_the_fullest_part_comes_first_and_its_use_grows_with_the_rate() -> None:
    few, many = (parts(Load(rate), PROD, 0.01) for rate in (1_000.0, 10_000.0))

    assert few[0].use == max(each.use for each in few)
    assert many[0].name == few[0].name == "time shards"
    assert many[0].use == pytest.approx(10 * few[0].use) == pytest.approx(10_000 / 8 / 1_000)


def test_requests_of_each_kind_are_held_against_the_parameter_that_limits_them() -> None:
    route = "API Gateway, the route"

    assert part(route, Load(), DEV).moved_by == part(route, RIDES, DEV).moved_by == "RouteRate"
    assert part(route, replace(RIDES, batch=500), DEV).moved_by == "BatchRate"
    assert part("receiving functions", Load(), DEV).moved_by == "ReceiveFrameConcurrency"
    assert part("receiving functions", CLICKS, DEV).moved_by == "ReceiveHttpConcurrency"


def test_queues_and_larger_nodes_raise_what_a_stage_takes() -> None:
    more = replace(PROD, queues={**PROD.queues, "chat": 2 * PROD.queues["chat"]}, instance="mq.m7g.xlarge")

    assert part("persist queues", Load(), more).limit == 2 * part("persist queues", Load()).limit
    assert broker(Load(), more).use == broker(Load(), PROD).use / 2


def test_provisioned_tables_are_full_at_seventy_percent_of_their_maximum() -> None:
    scaled = replace(PROD, minimum_units=100, values={**PROD.values, "MaximumTableUnits": 10_000})

    assert part("table, provisioned", Load(7_000.0), scaled).use == pytest.approx(1.0)
    assert "table, at once" not in {each.name for each in parts(Load(), scaled, 0.01)}


def test_an_account_has_the_provisioned_units_of_all_tables_and_indexes_together() -> None:
    """A message takes a unit of its table and of two indexes; eight others have their minimum."""
    scaled = replace(PROD, minimum_units=1_000, scaled=11)

    assert part("provisioned tables, the account", Load(7_000.0), scaled).used == pytest.approx(3 * 10_000 + 8 * 1_000)
    assert "provisioned tables, the account" not in {each.name for each in parts(Load(), PROD, 0.01)}


def test_time_shards_are_those_of_the_stage_and_the_parameter_that_is_next_is_named() -> None:
    def at(read: int, written: int) -> Part:
        values = {**PROD.values, "TimeShardsRead": str(read), "TimeShardsWritten": str(written)}
        return part("time shards", Load(16_000.0), replace(PROD, values=values))

    assert at(8, 8).use == 2 * at(16, 16).use == 4 * at(32, 32).use == pytest.approx(2.0)
    assert at(8, 8).moved_by == "TimeShardsRead, then TimeShardsWritten"
    assert at(64, 8).moved_by == "TimeShardsWritten"
    assert at(64, 64).moved_by == "nothing: 64 are the most"


def test_a_busy_key_is_full_by_its_share() -> None:
    assert part("the busiest room", Load(10_000.0), hot=0.1).use == pytest.approx(1.0)
    assert part("the busiest room", Load(10_000.0), hot=0.5).moved_by == "8 shards: a new room, its id ends in ~8"
    assert part("the busiest room", Load(10_000.0), hot=0.9).moved_by.startswith("16 shards")
    assert part("the busiest ad", replace(CLICKS, rate=10_000.0), hot=0.4).use == pytest.approx(1.0)
    assert part("the busiest resort's day", replace(RIDES, rate=10_000.0), hot=0.8).use == pytest.approx(1.0)


def test_each_limit_has_a_source_that_exists() -> None:
    for load in (Load(), RIDES, CLICKS):
        for each in parts(load, DEV, 0.01):
            file, _, heading = each.source.partition(", ")
            assert each.source in PAGES or f"## {heading}" in (ROOT / file).read_text() or not heading


def test_a_stage_that_samconfig_has_not_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config-env", "foo"]) == 1
    assert "samconfig.toml has no stage 'foo'" in capsys.readouterr().err
