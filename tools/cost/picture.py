"""Draws what a stage costs against the rate of events, beside the usual design."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from loadtest.report.plots import Line, LineChart, picture
from tools.cost.model import Load, positions
from tools.cost.prices import Prices
from tools.cost.stage import Stage
from tools.cost.summary import Summary

HIGHEST, STEP = 100, 5
"""Events per second of the last point, and between two points."""


def draw(stage: Stage, listed: Prices, load: Load) -> str:
    """The picture as SVG: the cost of ``stage`` and of the usual design at each rate, with frames as in ``load``."""
    rates = range(STEP, HIGHEST + 1, STEP)
    sums = {rate: Summary(tuple(positions(replace(load, rate=float(rate)), stage, listed))) for rate in rates}
    millions = {rate: replace(load, rate=float(rate)).events / 1e6 for rate in rates}

    def line(label: str, value: Callable[[int], float]) -> Line:
        return Line(label, [(rate, value(rate)) for rate in rates])

    whole = line(f"{stage.name}, frames of {load.batch}", lambda rate: sums[rate].rest + sums[rate].load)
    usual = line("usual design", lambda rate: sums[rate].usual)
    each = [
        line(one.label, lambda rate, points=dict(one.points): (points[rate] or 0.0) / millions[rate])  # type: ignore[misc]
        for one in (whole, usual)
    ]
    charts = [
        LineChart("A month, at rest and under load", "$", [whole, usual], HIGHEST, across="/s"),
        LineChart("A million events", "$", each, HIGHEST, across="/s"),
    ]
    return picture("Cost against the rate of events", charts)
