"""Draws what a stage costs against the rate of events, beside the usual design."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from loadtest.report.plots import Line, LineChart, picture
from tools.cost.model import Load, items
from tools.cost.prices import Prices
from tools.cost.stage import Stage
from tools.cost.summary import Summary

HIGHEST, STEP = 100, 5
"""Events per second of the last point, and between two points."""


def draw(stage: Stage, listed: Prices, load: Load) -> str:
    """The picture as SVG: the cost of ``stage`` and of the usual design at each rate, with frames as in ``load``."""
    rates = range(STEP, HIGHEST + 1, STEP)
    sums = {rate: Summary(tuple(items(replace(load, rate=float(rate)), stage, listed))) for rate in rates}
    millions = {rate: replace(load, rate=float(rate)).events / 1e6 for rate in rates}
    label = f"{stage.name}, frames of {load.batch}"

    def lines(divisor: Callable[[int], float]) -> list[Line]:
        whole = [(rate, (sums[rate].rest + sums[rate].load) / divisor(rate)) for rate in rates]
        usual = [(rate, sums[rate].usual / divisor(rate)) for rate in rates]
        return [Line(label, whole), Line("usual design", usual)]

    charts = [
        LineChart("A month, at rest and under load", "$", lines(lambda _: 1.0), HIGHEST, across="/s"),
        LineChart("A million events", "$", lines(lambda rate: millions[rate]), HIGHEST, across="/s"),
    ]
    return picture("Cost against the rate of events", charts)
