"""Draws the committed ratios that have an aim as bars, each divided by its aim: 1 is the aim, and less is better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loadtest.report.plots import BarChart, picture

Aims = Mapping[str, tuple[str, str, float]]
"""Benchmark, name of the ratio, and aim, by the label of the bar."""
WRITING: Aims = {
    "publish\none": ("publish", "one event, time against a bare publish", 1.4),
    "publish\n100": ("publish", "batch of 100, rate against bare publishes", 6.0),
    "message": ("singles", "message, CPU of both workers against a bare publish", 6.0),
    "ride": ("singles", "ride, CPU of both workers against a bare publish", 6.0),
    "click": ("singles", "click, CPU of both workers against a bare publish", 6.0),
    "store,\nrate": ("persist", "items/s against batch_writer(), 8 ms of latency", 3.0),
    "store,\nCPU": ("persist", "CPU per item against batch_writer(), 8 ms of latency", 0.5),
}
READING: Aims = {
    "open,\nfirst": ("history", "open: first, 200,000, time against a bare Query", 1.0),
    "open,\ncached": ("history", "open: newest, cached, 200,000, time against a bare Query", 0.25),
    "members,\nfirst": ("history", "members: first, 200,000, time against a bare Query", 1.5),
    "members,\ncached": ("history", "members: newest, cached, 200,000, time against a bare Query", 1.5),
    "live post,\nCPU": ("live", "CPU per post against boto3", 0.1),
}
DISTURBED: Aims = {"200,000\nclicks": ("durable", "message, durable p99 beside a backlog", 2.0)}
USUAL_WAY = " the usual way"
COLD_AIM = 1.1
"""At most so many times the CPU of a start the usual way."""


def draw(committed: Mapping[str, Any]) -> str:
    """The picture as SVG, of the content of ``bench/ratios.json``.

    Raises:
        KeyError: a ratio of the picture is not committed.
    """
    charts = [
        _chart("Sending and storing", committed, WRITING),
        _chart("Reading and live messages", committed, READING),
        _chart("A message beside clicks", committed, DISTURBED),
        BarChart("Cold start, slowest function of each kind", "ratio / aim", ["measured"], _cold(committed), limit=1.0),
    ]
    return picture("Benchmarks: ratios divided by their aims", charts)


def _chart(title: str, committed: Mapping[str, Any], aims: Aims) -> BarChart:
    bars: dict[str, list[float]] = {}
    for label, (bench, name, aim) in aims.items():
        ratio = committed[bench]["ratios"][name]
        bars[label] = [ratio["median"] / aim if ratio["better"] == "lower" else aim / ratio["median"]]
    return BarChart(title, "ratio / aim", ["measured"], bars, limit=1.0)


def _cold(committed: Mapping[str, Any]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for name, ratio in committed["cold"]["ratios"].items():
        kind = name.removesuffix(USUAL_WAY).rpartition(" ")[2]
        found[kind] = [max(ratio["median"] / COLD_AIM, *found.get(kind, [0.0]))]
    return found
