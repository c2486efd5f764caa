"""Measures the persist path with every combination of settings: ``python -m bench.sweep [--queues 1,2,4]``.

Each point has its own stage, which starts without data. Ctrl-C writes the points that are done, as partial.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

from bench.rounds import head, row
from bench.suite import commit, facts
from bench.sweep import heat_map
from bench.sweep.grid import FORMS, Setting, grid, window_text
from bench.sweep.point import Point, measure
from loadtest.client.command import Parser, exit_code_of, positive
from loadtest.client.stage_process import interruptible
from localstage.client.running_stage import ROOT

MESSAGES, FEWEST = 10_000, 100
START_SECONDS, RATE = 18, 500
"""What a point takes: seconds without the load, and messages per second of all of it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 if a message was lost or a point failed."""
    parser = Parser(prog="python -m bench.sweep", description=__doc__.splitlines()[0])
    for name, form in FORMS.items():
        parser.add_argument(f"--{name}", default="", help=f"{form}, separated by commas")
    parser.add_argument("--scale", type=positive, default=1.0, help=f"factor of the {MESSAGES:,} messages of a point")
    parser.add_argument("--delay", type=positive, default=0.0, help="milliseconds that DynamoDB answers later")
    parser.add_argument("--results", type=Path, default=ROOT / ".local" / "sweeps", help="folder of the results")
    options = parser.parse_args(arguments)
    with interruptible():
        return exit_code_of(lambda: command(options), ValueError)


def command(options: argparse.Namespace) -> int:
    """Measure every point, then print the table and write both files.

    Raises:
        ValueError: an option has a wrong value.
    """
    settings = grid({name: getattr(options, name) for name in FORMS})
    messages = max(FEWEST, round(MESSAGES * options.scale))
    seconds = len(settings) * (START_SECONDS + messages * 1.2 / RATE)
    print(f"{len(settings)} points of {messages:,} messages, about {max(1, seconds / 60):.0f} min", flush=True)
    points: list[Point] = []
    try:
        for number, setting in enumerate(settings, 1):
            point = measure(setting, messages, options.delay / 1_000)
            points.append(point)
            print(f"{number:2} of {len(settings)}  {setting.row}, {setting.column}: {line(point)}", flush=True)
    finally:
        if points:
            report(points, settings, messages, options.results, options.delay)
    return 0 if all(point.whole and not point.lost for point in points) else 1


def line(point: Point) -> str:
    """A point in one line."""
    return (
        f"{point.stored_per_second:,.0f}/s, singles durable p50={point.single_p50:.0f}ms p99={point.single_p99:.0f}ms, "
        f"{point.calls} calls, lost={point.lost}"
    )


def report(points: Sequence[Point], settings: Sequence[Setting], messages: int, folder: Path, delay: float) -> None:
    """Print the table, and write the JSON and the heat maps into ``folder``."""
    partial = len(points) < len(settings)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{commit()}.json"
    about = {"commit": commit(), "machine": facts(), "messages": messages, "delay": delay, "partial": partial}
    path.write_text(json.dumps({**about, "points": [asdict(point) for point in points]}, indent=1), encoding="utf-8")
    heat_map.write(points, path.with_suffix(".svg"))
    table(points)
    print("\n".join(means(points)))
    if partial:
        print(f"partial: {len(points)} of {len(settings)} points")
    print(f"lost={sum(point.lost for point in points)}\n{path}\n{path.with_suffix('.svg')}", flush=True)


def table(points: Sequence[Point]) -> None:
    """Print all points; the durable latencies in ms."""
    settings = ("batch", "window", "queues", "writers", "receivers")
    head(*settings, "stored/s", "p50", "p99", "singles p50", "p99", "calls", "lost")
    for point in points:
        setting = point.setting
        latencies = (point.full_p50, point.full_p99, point.single_p50, point.single_p99)
        row(
            *(str(setting.batch), window_text(setting.window)),
            *(str(each) for each in (setting.queues, setting.writers, setting.receivers)),
            *(f"{each:,.0f}" for each in (point.stored_per_second, *latencies, point.calls, point.lost)),
        )


def means(points: Sequence[Point]) -> Iterator[str]:
    """A line per value of each setting that has several: the means of all whole points with it."""
    points = [point for point in points if point.whole]
    for name in ("batch", "window", "queues", "writers", "receivers"):
        values = list(dict.fromkeys(getattr(point.setting, name) for point in points))
        for value in values if len(values) > 1 else ():
            same = [point for point in points if getattr(point.setting, name) == value]
            stored, single = fmean(each.stored_per_second for each in same), fmean(each.single_p50 for each in same)
            text = window_text(value) if name == "window" else value
            yield f"{name} {text}: mean {stored:,.0f} stored/s, singles durable p50 {single:,.0f} ms"


if __name__ == "__main__":
    sys.exit(main())
