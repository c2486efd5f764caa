"""Heat maps of a sweep as one SVG: a row per batch and window, a column per queues, writers and receivers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from bench.sweep.point import Point

PANELS: tuple[tuple[str, Callable[[Point], float], str], ...] = (
    ("stored per second (darker is better)", lambda point: point.stored_per_second, "Blues"),
    ("durable p50 of single frames, ms", lambda point: point.single_p50, "Blues_r"),
    ("durable p99 of single frames, ms", lambda point: point.single_p99, "Blues_r"),
)
"""Title, value, and colors. The better a value, the darker its cell."""


def write(points: Sequence[Point], path: Path) -> None:
    """Draw all points; a setting that was not measured has an empty cell."""
    rows = list(dict.fromkeys(point.setting.row for point in points))
    columns = list(dict.fromkeys(point.setting.column for point in points))
    figure = Figure(figsize=(2.5 + 1.6 * len(columns), len(PANELS) * (1 + 0.35 * len(rows))), layout="constrained")
    for axes, (title, value, colors) in zip(figure.subplots(len(PANELS), squeeze=False).flat, PANELS, strict=True):
        values = [[float("nan")] * len(columns) for _ in rows]
        for point in points:
            values[rows.index(point.setting.row)][columns.index(point.setting.column)] = value(point)
        image = axes.imshow(values, cmap=colors, aspect="auto")
        axes.set_title(title, loc="left")
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(rows)), rows)
        for point in points:
            at = columns.index(point.setting.column), rows.index(point.setting.row)
            is_dark = sum(image.cmap(image.norm(value(point)))[:3]) < 1.5
            axes.text(*at, f"{value(point):,.0f}", ha="center", va="center", color="white" if is_dark else "black")
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "headrace"}):
        figure.savefig(path, format="svg", metadata={"Date": None})
