"""Draws the dashboard as SVG, for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from tools.dashboard.definition import SERVICE, Widget
from tools.dashboard.recording import MINUTE, Recording, Series, is_local

PICTURE = Path(__file__).parents[2] / "docs" / "diagrams" / "dashboard.svg"
TITLE = "The dashboard of a stage, with the numbers of a local run"
UNIT, GAP = 44, 10
"""Pixels of a unit of the dashboard's grid, and between two widgets."""
LEFT, TOP, LEGEND, LEGEND_LINE, EDGE = 46, 50, 52, 15, 14
ENTRIES = 6
"""Entries of a legend; beyond, the largest series are named and the others counted."""
LONGEST = 25
"""Characters of an entry."""
NO_LOCAL_NUMBER = "only on AWS"

STYLE = """
  text { font: 11px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #59636e }
  .title { font-size: 13px; font-weight: 600; fill: #1f2328 } .end { text-anchor: end } .middle { text-anchor: middle }
  .page { fill: #f6f8fa } .widget { fill: #ffffff; stroke: #d1d9e0 } .grid { stroke: #d1d9e0; stroke-width: 0.7 }
  polyline { fill: none; stroke-width: 1.6 }
  .s0 { stroke: #0969da } .s1 { stroke: #bc4c00 } .s2 { stroke: #1a7f37 }
  .s3 { stroke: #cf222e } .s4 { stroke: #8250df } .s5 { stroke: #9a6700 } .s6 { stroke: #818b98; opacity: 0.6 }
  circle { stroke-width: 2.4 }
  @media (prefers-color-scheme: dark) {
    text { fill: #b1bac4 } .title { fill: #f0f6fc } .page { fill: #010409 }
    .widget { fill: #0d1117; stroke: #3d444d } .grid { stroke: #3d444d }
    .s0 { stroke: #4493f8 } .s1 { stroke: #f0883e } .s2 { stroke: #3fb950 }
    .s3 { stroke: #ff7b72 } .s4 { stroke: #ab7df8 } .s5 { stroke: #d29922 } .s6 { stroke: #9198a1 }
  }
"""


def svg(widgets: Sequence[Widget], recording: Recording) -> str:
    """The dashboard as an SVG document."""
    width = max(each.x + each.width for each in widgets) * UNIT + GAP
    height = max(each.y + each.height for each in widgets) * UNIT + GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
            f"<title>{escape(TITLE)}, {recording.day}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{width}" height="{height}" rx="6"/>',
            *(line for each in widgets for line in Chart(each, recording).lines()),
            "</svg>",
            "",
        ]
    )


class Chart:
    """One widget."""

    def __init__(self, widget: Widget, recording: Recording) -> None:
        self._widget = widget
        self._seconds = recording.minutes * MINUTE
        self._missing = [each.label or each.name for each in widget.lines if not is_local(each)]
        found = [series for line in widget.lines if is_local(line) for series in recording.series(line)]
        self._named = len(found) if len(found) <= ENTRIES else ENTRIES - 1
        self._series = found if self._named == len(found) else sorted(found, key=_largest, reverse=True)
        self._x, self._y = widget.x * UNIT + GAP, widget.y * UNIT + GAP
        self._width, self._height = widget.width * UNIT - GAP, widget.height * UNIT - GAP
        self._most = nice(max([_largest(each) for each in self._series], default=0))

    def lines(self) -> Iterator[str]:
        """The elements of the chart."""
        x, y = self._x, self._y
        yield f'<rect class="widget" x="{x}" y="{y}" width="{self._width}" height="{self._height}" rx="5"/>'
        yield _text(x + EDGE, y + 20, self._widget.title, "title")
        yield _text(x + EDGE, y + 37, self._widget.unit)
        if len(self._missing) == len(self._widget.lines):
            yield _text(x + self._width / 2, y + self._height / 2 + 4, NO_LOCAL_NUMBER, "title middle")
            return
        if self._missing:
            yield _text(x + self._width - EDGE, y + 37, f"{NO_LOCAL_NUMBER}: {len(self._missing)} more", "end")
        yield from self._axes()
        for number, series in reversed(list(enumerate(self._series))):
            yield from self._drawn(series, self._style(number))
        yield from self._legend()

    def _axes(self) -> Iterator[str]:
        for part in (0, 0.5, 1):
            value = self._most * part
            level = f"{self._level(value):g}"
            right = self._x + self._width - EDGE
            yield f'<line class="grid" x1="{self._x + LEFT}" y1="{level}" x2="{right}" y2="{level}"/>'
            yield _text(self._x + LEFT - 6, self._level(value) + 4, number(value), "end")
        for second in range(0, self._seconds, 2 * MINUTE):
            label = f"{second // MINUTE} min" if second else "0"
            yield _text(self._at(second), self._level(0) + 15, label, "middle")

    def _drawn(self, series: Series, style: str) -> Iterator[str]:
        points = [(f"{self._at(second):g}", f"{self._level(value):g}") for second, value in series.points.items()]
        if len(points) > 1:
            yield f'<polyline class="{style}" points="{" ".join(map(",".join, points))}"/>'
        yield from (f'<circle class="{style}" cx="{x}" cy="{y}" r="0.8"/>' for x, y in points)

    def _legend(self) -> Iterator[str]:
        top = self._y + self._height - LEGEND + 14
        labels = [shortened(each.label) for each in self._series[: self._named]]
        if self._named < len(self._series):
            labels.append(f"{len(self._series) - self._named} more")
        for index, label in enumerate(labels):
            left = self._x + EDGE + index % 2 * (self._width - 2 * EDGE) / 2
            level = top + index // 2 * LEGEND_LINE
            line = f'x1="{left:g}" y1="{level - 4}" x2="{left + 12:g}" y2="{level - 4}"'
            yield f'<line class="{self._style(index)}" stroke-width="3" {line}/>'
            yield _text(left + 18, level, label)
        if not labels:
            yield _text(self._x + self._width / 2, self._y + self._height / 2, "no value", "middle")

    def _style(self, number: int) -> str:
        return f"s{number if number < self._named else ENTRIES}"

    def _at(self, second: float) -> float:
        last = max(1, self._seconds - MINUTE)
        return round(self._x + LEFT + 8 + second / last * (self._width - LEFT - EDGE - 16), 1)

    def _level(self, value: float) -> float:
        bottom = self._y + self._height - LEGEND - 22
        return round(bottom - value / self._most * (bottom - self._y - TOP), 1)


def nice(value: float) -> float:
    """The end of an axis that shows values up to ``value``: 1, 2, 3 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1.0, 2.0, 3.0, 5.0, 10.0) if value <= step * power)


def number(value: float) -> str:
    """A value at an axis, in at most five characters: 0.05, 1,000 or 20k."""
    return f"{value / 1000:g}k" if value >= 10_000 else f"{value:,.10g}"


def shortened(label: str) -> str:
    """A name in a legend, without the stack's name."""
    label = label.replace(f"{SERVICE}-", "")
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def _largest(series: Series) -> float:
    return max(series.points.values())


def _text(x: float, y: float, text: str, style: str = "") -> str:
    chosen = f' class="{style}"' if style else ""
    return f'<text{chosen} x="{x:g}" y="{y:g}">{escape(text)}</text>'
