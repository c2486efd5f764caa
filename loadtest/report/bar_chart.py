"""A bar chart with a group of bars for each name, as SVG elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from loadtest.report.drawing import Box, nice, number, text

LABELS = 10
"""At most so many names are written at the axis."""
MOST = 64
"""Groups beyond are not drawn."""


@dataclass(frozen=True)
class BarChart:
    """``groups`` have a value for each of ``names``, by the name of the group."""

    title: str
    unit: str
    names: Sequence[str]
    groups: Mapping[str, Sequence[float]]
    box: Box = field(default_factory=Box)

    def elements(self) -> Iterator[str]:
        """The elements of the chart."""
        yield from self.box.frame(self.title, self.unit)
        shown = list(self.groups.items())[:MOST]
        most = nice(max((value for _, values in shown for value in values), default=0))
        for part in (0, 0.5, 1):
            yield from self.box.rule(part, number(most * part))
        group = (self.box.right - self.box.left) / max(1, len(shown))
        for at, (name, values) in enumerate(shown):
            left, width = self.box.left + at * group + group * 0.1, group * 0.8 / len(values)
            for index, value in enumerate(values):
                top = self.box.level(value / most)
                x = f"{left + (index + 0.5) * width:.1f}"
                line = f'x1="{x}" y1="{self.box.bottom:g}" x2="{x}" y2="{top:g}"'
                yield f'<line class="s{index}" stroke-width="{width:.1f}" {line}/>'
            if not at % -(-len(shown) // LABELS):
                yield text(left + group * 0.4, self.box.bottom + 15, name, "middle")
        yield from self.box.legend(self.names)
