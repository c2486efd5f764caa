"""The charts of a run, from its JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loadtest.report.document import Document
from loadtest.report.plots import Line, LineChart

POINTS = 300
"""Points of a line; more would not be seen."""
HIGHEST = ("memory", "depths", "longest")
"""Kinds of samples whose largest value counts when points are merged; those of the others are rates."""
PERCENTILES = ("p50", "p95", "p99")
MEGABYTE = 1e6
Points = list[tuple[float, float | None]]


def charts(run: Document) -> list[LineChart]:
    """All charts, without those that have nothing to show."""
    made = [_throughput(run)]
    made += [_latency(run, "ack", "Send to acknowledgement"), _latency(run, "durable", "Send to readable")]
    made += [_questions(run)]
    made += [
        _sampled(run, "depths", "Depth of the queues", "messages"),
        _sampled(run, "cpu", "CPU", "percent of one core", lambda value: value * 100),
        _sampled(run, "memory", "Memory", "MB without mapped files", lambda value: value / MEGABYTE),
        _durations(run),
        _sampled(run, "units", "Consumed capacity of DynamoDB", "units per second, with indexes"),
    ]
    return [each for each in made if each.lines]


def last_second(run: Document) -> float:
    """When the last phase was stored, in seconds of the run."""
    ends = [phase["began"] + max(phase["seconds"], phase["readableAfter"]) for phase in run["phases"]]
    return max(ends, default=0.0) or 1.0


def _chart(
    run: Document,
    title: str,
    unit: str,
    lines: Sequence[tuple[str, Points]],
    *,
    largest: bool = False,
    log: bool = False,
) -> LineChart:
    end = last_second(run)
    kept = [(label, [point for point in points if point[0] <= end]) for label, points in lines]
    drawn = [Line(label, thinned(points, largest=largest)) for label, points in kept]
    marks = [phase["began"] for phase in run["phases"][1:]]
    return LineChart(title, unit, [line for line in drawn if line.has_values], end, log=log, marks=marks)


def thinned(points: Points, *, largest: bool, limit: int = POINTS) -> Points:
    """At most ``limit`` points: the largest or the mean of neighbours, where there is a value."""
    size = -(-len(points) // limit)
    if size <= 1:
        return points
    return [_merged(points[at : at + size], largest) for at in range(0, len(points), size)]


def _merged(points: Points, largest: bool) -> tuple[float, float | None]:
    values = [value for _, value in points if value is not None]
    if not values:
        return points[-1][0], None
    return points[-1][0], max(values) if largest else sum(values) / len(values)


def _phases(run: Document, points: Callable[[Mapping[str, Any]], Points]) -> Points:
    """The ``points`` of each phase, in seconds of the run, interrupted between two phases."""
    found: Points = []
    for phase in run["phases"]:
        found += [(phase["began"] + second, value) for second, value in points(phase)]
        found.append((phase["began"] + phase["seconds"], None))
    return found


def _counted(run: Document, name: str) -> Points:
    """A count of each second; of phases without it nothing."""

    def points(phase: Mapping[str, Any]) -> Points:
        if not phase["counts"].get(name):
            return []
        by_second = {each["second"]: each["counts"].get(name, 0) for each in phase["timeline"]}
        return [(second, by_second.get(second, 0)) for second in range(max(by_second) + 1)]

    return _phases(run, points)


def _percentile(run: Document, name: str, percent: str) -> Points:
    """Milliseconds of each second in which something was measured."""
    return _phases(
        run,
        lambda phase: [
            (each["second"], found[percent] * 1000)
            for each in phase["timeline"]
            if (found := each["latencies"].get(name))
        ],
    )


def _throughput(run: Document) -> LineChart:
    lines = [("accepted", _counted(run, "accepted"))]
    stored = [values for name, values in run["samples"].get("counts", {}).items() if name.startswith("Stored ")]
    if stored:
        totals = [sum(value or 0.0 for value in row) for row in zip(*stored, strict=True)]
        lines.append(("stored", list(zip(run["samples"]["seconds"], totals, strict=True))))
    return _chart(run, "Throughput", "events per second", [*lines, ("questions", _counted(run, "questions"))])


def _latency(run: Document, name: str, title: str) -> LineChart:
    lines = [(each, _percentile(run, name, each)) for each in PERCENTILES]
    return _chart(run, title, "ms, of each second", lines, log=True, largest=True)


def _questions(run: Document) -> LineChart:
    names = sorted({name for phase in run["phases"] for name in phase["latencies"]} - {"ack", "durable"})
    lines = [(name, _percentile(run, name, "p95")) for name in names]
    return _chart(run, "Questions, p95", "ms, of each second", lines, log=True, largest=True)


def _sampled(
    run: Document, kind: str, title: str, unit: str, scale: Callable[[float], float] = lambda value: value
) -> LineChart:
    samples = run["samples"]

    def points(values: Sequence[float | None]) -> Points:
        pairs = zip(samples["seconds"], values, strict=True)
        return [(at, None if value is None else scale(value)) for at, value in pairs]

    lines = [(name, points(values)) for name, values in samples.get(kind, {}).items()]
    return _chart(run, title, unit, lines, largest=kind in HIGHEST)


def _durations(run: Document) -> LineChart:
    samples = run["samples"]

    def points(name: str) -> Points:
        rows = zip(samples["seconds"], samples["busy"][name], samples["invocations"][name], strict=True)
        return [(at, busy / count * 1000) for at, busy, count in rows if busy and count]

    lines = [(name, points(name)) for name in samples.get("invocations", ())]
    return _chart(run, "Durations of functions and their calls", "ms, mean of each second", lines, log=True)
