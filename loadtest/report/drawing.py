"""What all charts share: frame, text, numbers and colors of SVG, for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

LEFT, TOP, LEGEND, LEGEND_LINE, EDGE = 46, 50, 52, 15, 14
ENTRIES = 6
"""Entries of a legend; beyond, the largest series are named and the others counted."""
LONGEST = 25
"""Characters of an entry."""

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


@dataclass(frozen=True)
class Box:
    """A chart's place and size in pixels, and its area between the axes."""

    x: float = 0
    y: float = 0
    width: float = 400
    height: float = 250

    @property
    def left(self) -> float:
        """Where the horizontal axis begins."""
        return self.x + LEFT

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.x + self.width - EDGE

    @property
    def top(self) -> float:
        """Where the vertical axis ends."""
        return self.y + TOP

    @property
    def bottom(self) -> float:
        """Where it begins, above the labels and the legend."""
        return self.y + self.height - LEGEND - 22

    @property
    def center(self) -> tuple[float, float]:
        """The middle of the chart."""
        return self.x + self.width / 2, self.y + self.height / 2

    def frame(self, title: str, unit: str) -> Iterator[str]:
        """The background, the title and the unit."""
        place = f'x="{self.x:g}" y="{self.y:g}" width="{self.width:g}" height="{self.height:g}"'
        yield f'<rect class="widget" {place} rx="5"/>'
        yield text(self.x + EDGE, self.y + 20, title, "title")
        yield text(self.x + EDGE, self.y + 37, unit)

    def level(self, fraction: float) -> float:
        """The height of a value that is ``fraction`` of the way up the axis."""
        return round(self.bottom - fraction * (self.bottom - self.top), 1)

    def rule(self, fraction: float, label: str) -> Iterator[str]:
        """A line across, with its label at the axis."""
        level = f"{self.level(fraction):g}"
        yield f'<line class="grid" x1="{self.left:g}" y1="{level}" x2="{self.right:g}" y2="{level}"/>'
        yield text(self.left - 6, self.level(fraction) + 4, label, "end")

    def legend(self, labels: Sequence[str], more: int = 0) -> Iterator[str]:
        """The names of the series in the order of their colors, in two columns, and how many ``more`` there are."""
        top = self.y + self.height - LEGEND + 14
        entries = [(f"s{index}", label) for index, label in enumerate(labels)]
        entries += [(f"s{ENTRIES}", f"{more} more")] if more else []
        for index, (style, label) in enumerate(entries):
            left = self.x + EDGE + index % 2 * (self.width - 2 * EDGE) / 2
            level = top + index // 2 * LEGEND_LINE
            line = f'x1="{left:g}" y1="{level - 4:g}" x2="{left + 12:g}" y2="{level - 4:g}"'
            yield f'<line class="{style}" stroke-width="3" {line}/>'
            yield text(left + 18, level, shortened(label))


def text(x: float, y: float, content: str, style: str = "") -> str:
    """A text element; ``style`` are names of classes."""
    chosen = f' class="{style}"' if style else ""
    return f'<text{chosen} x="{x:g}" y="{y:g}">{escape(content)}</text>'


def nice(value: float) -> float:
    """The end of an axis that shows values up to ``value``: 1, 2, 3 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1.0, 2.0, 3.0, 5.0, 10.0) if value <= step * power)


def number(value: float) -> str:
    """A value at an axis, in at most five characters: 0.05, 1,000, 20k or 2M."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:g}M"
    return f"{value / 1000:g}k" if value >= 10_000 else f"{value:,.10g}"


def shortened(label: str) -> str:
    """A name in a legend."""
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def picture(title: str, width: float, height: float, elements: Iterable[str]) -> str:
    """An SVG document for a page of the documentation."""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{width:g}" height="{height:g}" rx="6"/>',
            *elements,
            "</svg>",
            "",
        ]
    )
