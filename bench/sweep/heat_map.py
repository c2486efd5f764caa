"""Heat maps of a sweep as one SVG: a row per batch and window, a column per queues and writers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from bench.sweep.point import Point

PANELS: tuple[tuple[str, Callable[[Point], float], bool], ...] = (
    ("stored per second (darker is better)", lambda point: point.stored_per_second, True),
    ("durable p50 of single frames, ms", lambda point: point.single_p50, False),
    ("durable p99 of single frames, ms", lambda point: point.single_p99, False),
)
"""Title, value, and whether more is better. The better a value, the darker its cell."""
LABEL, CELL, ROW, TITLE = 190, 150, 30, 60
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600 }
svg { background: #fff }
@media (prefers-color-scheme: dark) { text { fill: #d1d9e0 } svg { background: #0d1117 } }
text.on-light { fill: #1f2328 } text.on-dark { fill: #fff }
"""


def heat_map(points: Sequence[Point]) -> str:
    """The SVG."""
    rows = list(dict.fromkeys(point.setting.row for point in points))
    columns = list(dict.fromkeys(point.setting.column for point in points))
    width, panel = LABEL + CELL * len(columns) + 10, TITLE + ROW * len(rows) + 10
    parts = []
    for number, (title, value, more) in enumerate(PANELS):
        top = number * panel
        parts.append(_text(10, top + 24, title, "title"))
        parts += [_text(LABEL + CELL * at + 8, top + 48, column) for at, column in enumerate(columns)]
        parts += [_text(10, top + TITLE + ROW * at + 20, row) for at, row in enumerate(rows)]
        values = [value(point) for point in points]
        low, high = min(values), max(values)
        for point in points:
            share = (value(point) - low) / (high - low) if high > low else 0.5
            x = LABEL + CELL * columns.index(point.setting.column)
            y = top + TITLE + ROW * rows.index(point.setting.row)
            parts.append(_cell(x, y, share if more else 1 - share, f"{value(point):,.0f}"))
    size = f"{width} {panel * len(PANELS)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{width}" role="img">'
        f"<title>A sweep of the persist path</title><style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def write(points: Sequence[Point], path: Path) -> None:
    """Write the SVG."""
    path.write_text(heat_map(points), encoding="utf-8")


def _cell(x: int, y: int, share: float, text: str) -> str:
    """A cell between light blue (0) and dark blue (1)."""
    red, green, blue = (round(light + (dark - light) * share) for light, dark in ((222, 8), (235, 69), (247, 148)))
    box = f'<rect x="{x}" y="{y}" width="{CELL - 2}" height="{ROW - 2}" fill="rgb({red},{green},{blue})"/>'
    return box + _text(x + 8, y + 19, text, "on-dark" if share > 0.5 else "on-light")


def _text(x: int, y: int, text: str, kind: str = "") -> str:
    return f'<text x="{x}" y="{y}"{f" class={chr(34)}{kind}{chr(34)}" if kind else ""}>{escape(text)}</text>'
