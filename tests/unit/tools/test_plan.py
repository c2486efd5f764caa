"""The plan of a rate says what is full first, from the parameters of a stage and the cost model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.template_stack import ROOT
from tools.cost import stage
from tools.cost.model import Load
from tools.plan.__main__ import main
from tools.plan.parts import PAGES, Part, parts

DEV, PROD = stage.read("dev"), stage.read("prod")
RIDES, CLICKS = (Load(batch=1, http=True, stream=name) for name in ("ski", "ads"))


def part(name: str, load: Load, at: stage.Stage = PROD, hot: float = 0.01) -> Part:
    (found,) = (each for each in parts(load, at, hot) if each.name == name)
    return found


def test_requests_of_each_kind_are_held_against_the_parameter_that_limits_them() -> None:
    route = "API Gateway, the route"

    assert part(route, Load(), DEV).moved_by == part(route, RIDES, DEV).moved_by == "RouteRate"
    assert part(route, replace(RIDES, batch=500), DEV).moved_by == "BatchRate"
    assert part("receiving functions", Load(), DEV).moved_by == "ReceiveFrameConcurrency"
    assert part("receiving functions", CLICKS, DEV).moved_by == "ReceiveHttpConcurrency"


def test_time_shards_are_those_of_the_stage_and_the_parameter_that_is_next_is_named() -> None:
    def at(read: int, written: int) -> Part:
        values = {**PROD.values, "TimeShardsRead": str(read), "TimeShardsWritten": str(written)}
        return part("time shards", Load(16_000.0), replace(PROD, values=values))

    assert at(8, 8).use == 2 * at(16, 16).use == 4 * at(32, 32).use == pytest.approx(2.0)
    assert at(8, 8).moved_by == "TimeShardsRead, then TimeShardsWritten"
    assert at(64, 8).moved_by == "TimeShardsWritten"
    assert at(64, 64).moved_by == "nothing: 64 are the most"


def test_each_limit_has_a_source_that_exists() -> None:
    for load in (Load(), RIDES, CLICKS):
        for each in parts(load, DEV, 0.01):
            file, _, heading = each.source.partition(", ")
            assert each.source in PAGES or f"## {heading}" in (ROOT / file).read_text() or not heading


def test_a_stage_that_samconfig_has_not_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config-env", "foo"]) == 1
    assert "samconfig.toml has no stage 'foo'" in capsys.readouterr().err
