"""Draws charts with matplotlib, as SVG that follows the light or dark colors of the page around it."""

from __future__ import annotations

import io
import logging
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.ticker import LogLocator

WIDTH, HEIGHT = 5.6, 3.5
"""Inches of a chart."""
COLUMNS = 2
"""Charts beside each other in a picture."""
LABELS = 16
"""Names of groups under bars; of more groups, only some are named."""
ENTRIES = 6
"""Entries of a legend; beyond, the largest lines are named and the others counted."""

DARK = {
    (INK := "#1f2328"): "#f0f6fc",
    "#59636e": "#b1bac4",
    (GRID := "#d1d9e0"): "#3d444d",
    (CARD := "#ffffff"): "#0d1117",
    (REST := "#818b98"): "#9198a1",
    "#0969da": "#4493f8",
    "#bc4c00": "#f0883e",
    "#1a7f37": "#3fb950",
    "#cf222e": "#ff7b72",
    "#8250df": "#ab7df8",
    "#9a6700": "#d29922",
}
"""The color on a dark page for each color."""
LINES = tuple(DARK)[5:]
FONTS = '-apple-system, "Segoe UI", Helvetica, Arial, "DejaVu Sans", sans-serif'
STYLE = (
    f":root {{ {' '.join(f'--{light[1:]}: {light};' for light in DARK)} }}\n"
    f"@media (prefers-color-scheme: dark) {{ :root {{ "
    f"{' '.join(f'--{light[1:]}: {dark};' for light, dark in DARK.items())} }} }}\n"
    f"svg text {{ font-family: {FONTS} !important }}"
)
"""The colors and fonts that every SVG of this module needs, as CSS."""
SETTINGS = Path(__file__).with_name("charts.mplstyle")

logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # it reports fonts that only the reader needs


@dataclass(frozen=True)
class Line:
    """A line: (second, value) in order. Without a value the line is interrupted."""

    label: str
    points: Sequence[tuple[float, float | None]]

    @property
    def largest(self) -> float:
        """Its largest value, 0 if there is none."""
        return max((value for _, value in self.points if value is not None), default=0.0)

    @property
    def has_values(self) -> bool:
        """Whether there is anything to draw."""
        return any(value is not None for _, value in self.points)


@dataclass(frozen=True)
class LineChart:
    """``lines`` from second 0 to ``last``. ``log``: an axis of decades; ``marks``: seconds with a vertical line;
    ``shaded``: spans of seconds in which something was broken; ``across``: the unit, if it is not seconds.
    """

    title: str
    unit: str
    lines: Sequence[Line]
    last: float
    log: bool = False
    marks: Sequence[float] = ()
    shaded: Sequence[tuple[float, float]] = ()
    across: str = " s"

    @property
    def shown(self) -> Sequence[Line]:
        """The lines in the order of their colors; of many the largest come first."""
        few = len(self.lines) <= ENTRIES
        return self.lines if few else sorted(self.lines, key=lambda line: line.largest, reverse=True)

    def draw(self, axes: Axes) -> None:
        """Draw the lines."""
        named = len(self.lines) if len(self.lines) <= ENTRIES else ENTRIES - 1
        for at, line in enumerate(self.shown):
            seconds, values = zip(*((second, math.nan if v is None else v) for second, v in line.points), strict=True)
            color, label = (LINES[at], line.label) if at < named else (REST, "_")
            # No line shows a value between two that are missing. A dot for each would make a page of megabytes.
            near = zip((math.nan, *values), (*values[1:], math.nan), strict=False)
            alone = [place for place, both in enumerate(near) if all(map(math.isnan, both))]
            (drawn,) = axes.plot(seconds, values, ".-", color=color, label=label, linewidth=1.3, zorder=3 - at / 100)
            drawn.set(markersize=3, markevery=alone)
        if len(self.lines) > named:
            axes.plot([], [], color=REST, label=f"{len(self.lines) - named} more")
        for mark in self.marks:
            axes.axvline(mark, color=GRID, linewidth=0.9, linestyle="--", zorder=1)
        for at, span in enumerate(self.shaded):
            axes.axvspan(*span, color=GRID, linewidth=0, zorder=1, label="_" if at else "outage")
        axes.set_xlim(0, max(1.0, self.last))
        axes.xaxis.set_major_formatter("{x:,.0f}" + self.across)
        if self.log:
            axes.set_yscale("log")
            axes.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        else:
            axes.set_ylim(0, None if any(line.largest for line in self.lines) else 1)


@dataclass(frozen=True)
class BarChart:
    """``groups`` have a value for each of ``names``, by the name of the group. ``limit``: an aim, drawn as a line."""

    title: str
    unit: str
    names: Sequence[str]
    groups: Mapping[str, Sequence[float]]
    limit: float | None = None

    def draw(self, axes: Axes) -> None:
        """Draw the bars."""
        width = 0.8 / len(self.names)
        for at, name in enumerate(self.names):
            places = [group + (at - (len(self.names) - 1) / 2) * width for group in range(len(self.groups))]
            axes.bar(places, [values[at] for values in self.groups.values()], width, color=LINES[at], label=name)
        if self.limit is not None:
            axes.axhline(self.limit, color=LINES[3], linewidth=1.3, label="aim")
        step = -(-len(self.groups) // LABELS)
        axes.set_xticks(range(0, len(self.groups), step), list(self.groups)[::step])


Chart = LineChart | BarChart


def svg(chart: Chart) -> str:
    """The chart as an SVG element for a page that has ``STYLE``."""
    with mpl.rc_context(fname=SETTINGS):
        figure = Figure((WIDTH, HEIGHT))
        _draw(figure, chart)
        return _element(figure, f"{chart.title}, {chart.unit}")


def picture(title: str, charts: Sequence[Chart], caption: str = "") -> str:
    """All ``charts`` as one SVG document, for the documentation, with the ``caption`` above them."""
    rows = max(1, -(-len(charts) // COLUMNS))
    with mpl.rc_context(fname=SETTINGS):
        figure = Figure((COLUMNS * WIDTH, rows * HEIGHT), facecolor=CARD)
        if caption:
            figure.suptitle(caption, color=INK, weight=600, wrap=True)
        places = figure.subfigures(rows, COLUMNS, squeeze=False).flat
        for place, chart in zip(places, charts, strict=False):
            _draw(place, chart)
        return _element(figure, title).replace(">", f"><style>{STYLE}</style>", 1) + "\n"


def _draw(figure: FigureBase, chart: Chart) -> None:
    axes = figure.subplots()
    axes.set_title(chart.title, wrap=True)
    axes.set_ylabel(chart.unit)
    chart.draw(axes)
    for write in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        write("{x:,.10g}")  # 1,000,000 and not 1e+06
    figure.legend(loc="outside lower left", ncols=2)


def _element(figure: Figure, title: str) -> str:
    """The SVG element, with the names of colors and fonts instead of values."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=False, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = re.sub(r"#[0-9a-f]{6}", lambda found: f"var(--{found[0][1:]})" if found[0] in DARK else found[0], text)
    # A tenth of a point is enough for lines.
    text = re.sub(r' d="[^"]*"', lambda found: re.sub(r"(\.\d)\d+", r"\1", found[0]), text)
    start = f'<svg role="img" aria-label="{escape(title)}" '
    return start + text[text.index("<svg ") + len("<svg ") :].rstrip()
