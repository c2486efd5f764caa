"""A line chart over time, as SVG elements."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from loadtest.report.drawing import ENTRIES, Box, nice, number, text

STEPS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200, 14_400, 36_000, 86_400)
TICKS = 5
"""At most so many labels at the horizontal axis, after the 0."""
DOTTED = 20
"""Series of at most so many points show each of them."""


@dataclass(frozen=True)
class Line:
    """A line: (second, value) in order. Without a value the line is interrupted."""

    label: str
    points: Sequence[tuple[float, float | None]]

    @property
    def largest(self) -> float:
        """Its largest value, 0 if there is none."""
        return max((value for _, value in self.points if value is not None), default=0.0)

    def pieces(self) -> Iterator[list[tuple[float, float]]]:
        """The points between two interruptions."""
        piece: list[tuple[float, float]] = []
        for second, value in [*self.points, (0.0, None)]:
            if value is not None:
                piece.append((second, value))
            elif piece:
                yield piece
                piece = []


@dataclass(frozen=True)
class LineChart:
    """``lines`` from second 0 to ``last``. ``log``: an axis of decades; ``marks``: seconds with a vertical line."""

    title: str
    unit: str
    lines: Sequence[Line]
    last: float
    box: Box = field(default_factory=Box)
    log: bool = False
    marks: Sequence[float] = ()
    note: str = ""

    @cached_property
    def shown(self) -> Sequence[Line]:
        """The lines in the order of their colors; of many the largest come first."""
        return (
            self.lines
            if len(self.lines) <= ENTRIES
            else sorted(self.lines, key=lambda line: line.largest, reverse=True)
        )

    @cached_property
    def _named(self) -> int:
        return len(self.lines) if len(self.lines) <= ENTRIES else ENTRIES - 1

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """The ends of the axis."""
        most = max((line.largest for line in self.lines), default=0.0)
        if not self.log:
            return 0.0, nice(most)
        positive = [value for line in self.lines for _, value in line.points if value]
        low = math.floor(math.log10(min(positive, default=1.0)))
        return 10.0**low, 10.0 ** max(low + 1, math.ceil(math.log10(most or 10.0)))

    def elements(self) -> Iterator[str]:
        """The elements of the chart."""
        yield from self.box.frame(self.title, self.unit)
        if self.note:
            yield text(self.box.right, self.box.y + 37, self.note, "end")
        yield from self._axes()
        for index, line in reversed(list(enumerate(self.shown))):
            yield from self._drawn(line, f"s{index if index < self._named else ENTRIES}")
        labels = [line.label for line in self.shown[: self._named]]
        yield from self.box.legend(labels, len(self.lines) - self._named)
        if not labels:
            yield text(*self.box.center, "no value", "middle")

    def _axes(self) -> Iterator[str]:
        low, high = self._ends
        decades = round(math.log10(high / low)) if self.log else 0
        for value in [low * 10**power for power in range(decades + 1)] if self.log else [0, high / 2, high]:
            yield from self.box.rule(self._fraction(value), number(float(f"{value:.6g}")))
        step = next((each for each in STEPS if self.last / each <= TICKS), STEPS[-1])
        for second in range(0, int(self.last) + 1, step):
            yield text(self._at(second), self.box.bottom + 15, duration(second), "middle")
        for mark in self.marks:
            x = f"{self._at(mark):g}"
            line = f'x1="{x}" y1="{self.box.top:g}" x2="{x}" y2="{self.box.bottom:g}"'
            yield f'<line class="grid" stroke-dasharray="4" {line}/>'

    def _drawn(self, line: Line, style: str) -> Iterator[str]:
        for piece in line.pieces():
            points = [
                (f"{self._at(second):g}", f"{self.box.level(self._fraction(value)):g}") for second, value in piece
            ]
            if len(points) > 1:
                yield f'<polyline class="{style}" points="{" ".join(map(",".join, points))}"/>'
            if len(points) == 1 or len(line.points) <= DOTTED:
                yield from (f'<circle class="{style}" cx="{x}" cy="{y}" r="0.8"/>' for x, y in points)

    def _at(self, second: float) -> float:
        width = self.box.right - self.box.left
        return round(self.box.left + 8 + second / max(1, self.last) * (width - 16), 1)

    def _fraction(self, value: float) -> float:
        low, high = self._ends
        if self.log:
            return math.log10(max(value, low) / low) / math.log10(high / low)
        return value / high


def duration(seconds: float) -> str:
    """A time at the axis: 0, 20 s, 2 min or 3 h."""
    if not seconds:
        return "0"
    size, unit = next((each for each in ((3600, "h"), (60, "min")) if not seconds % each[0]), (1, "s"))
    return f"{seconds / size:g} {unit}"
