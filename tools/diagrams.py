"""Draws the diagrams of the docs as SVG, for light and dark pages: ``make diagrams``.

A diagram is a table of boxes, each with a column and a row of a grid, and a list of arrows between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "docs" / "diagrams"
WIDTH, HEIGHT, GAP_X, GAP_Y, MARGIN = 168, 54, 60, 46, 16

STYLE = """
  text { font: 14px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328; text-anchor: middle }
  .small { font-size: 12px; fill: #59636e }
  .page { fill: #ffffff } rect { stroke-width: 1.2 }
  .function { fill: #ddf4ff; stroke: #0969da } .store { fill: #fff8c5; stroke: #9a6700 }
  .queue { fill: #dafbe1; stroke: #1a7f37 } .edge { fill: #f6f8fa; stroke: #818b98 }
  path { fill: none; stroke: #59636e; stroke-width: 1.4 } marker path { fill: #59636e; stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .small { fill: #b1bac4 } .page { fill: #0d1117 }
    .function { fill: #0c2d6b; stroke: #4493f8 } .store { fill: #3b2300; stroke: #d29922 }
    .queue { fill: #033a16; stroke: #3fb950 } .edge { fill: #212830; stroke: #9198a1 }
    path { stroke: #9198a1 } marker path { fill: #9198a1 }
  }
"""


@dataclass(frozen=True)
class Box:
    """A box in a column and row of the grid; ``kind`` is its class in ``STYLE``."""

    column: int
    row: int
    kind: str
    title: str
    note: str = ""

    @property
    def x(self) -> int:
        return MARGIN + self.column * (WIDTH + GAP_X)

    @property
    def y(self) -> int:
        return MARGIN + self.row * (HEIGHT + GAP_Y)

    def side(self, name: str, shift: int) -> tuple[float, float]:
        """The middle of a side, moved along it."""
        if name in ("left", "right"):
            return self.x + WIDTH * (name == "right"), self.y + HEIGHT / 2 + shift
        return self.x + WIDTH / 2 + shift, self.y + HEIGHT * (name == "bottom")


@dataclass(frozen=True)
class Arrow:
    """From a side of one box to a side of another; a shift moves that end along its side.

    The label is above the middle of the longest horizontal line, or moved from there.
    """

    start: str
    end: str
    label: str = ""
    sides: tuple[str, str] = ("right", "left")
    shifts: tuple[int, int] = (0, 0)
    label_moved: tuple[int, int] = (0, 0)


WRITE_PATH = {
    "subscribers": Box(0, 0, "edge", "API Gateway", "to subscribers"),
    "push": Box(1, 0, "function", "push_live"),
    "live": Box(2, 0, "queue", "RabbitMQ", "live.0, live.1"),
    "cache": Box(4, 0, "store", "ElastiCache", "pages, slots, counts"),
    "gateway": Box(0, 1, "edge", "API Gateway", "from clients"),
    "receive": Box(1, 1, "function", "receive_frame", "receive_http"),
    "broker": Box(2, 1, "queue", "RabbitMQ", "persist.0 to persist.3"),
    "persist": Box(3, 1, "function", "persist_events"),
    "tables": Box(4, 1, "store", "DynamoDB"),
    "reads": Box(4, 2, "function", "read_room, read_ski", "and other readers"),
    "answers": Box(4, 3, "edge", "API Gateway", "to clients"),
    "retry": Box(2, 2, "queue", "SQS RetryQueue"),
    "redrive": Box(1, 3, "function", "manage_dead_letters"),
    "dead": Box(2, 3, "queue", "SQS DeadLetterQueue"),
}
WRITE_ARROWS = [
    Arrow("gateway", "receive", "events"),
    Arrow("receive", "broker", "publish"),
    Arrow("broker", "persist", "batch"),
    Arrow("persist", "tables", "rows"),
    Arrow("tables", "reads", "", ("bottom", "top")),
    Arrow("reads", "answers", "", ("bottom", "top")),
    Arrow("persist", "live", "live copies", ("top", "right"), (-20, 0)),
    Arrow("persist", "cache", "after storing", ("top", "left"), (20, 0)),
    Arrow("live", "push", "batch", ("left", "right")),
    Arrow("push", "subscribers", "frames", ("left", "right")),
    Arrow("receive", "retry", "not confirmed", ("bottom", "left"), (0, -10), (0, 0)),
    Arrow("persist", "retry", "not stored", ("bottom", "right"), (-14, -10), (-4, 0)),
    Arrow("retry", "persist", "one record", ("right", "bottom"), (10, 14), (-4, 22)),
    Arrow("retry", "dead", "after five tries", ("bottom", "top"), (0, 0), (48, 10)),
    Arrow("dead", "redrive", "", ("left", "right")),
    Arrow("redrive", "retry", "redrive", ("top", "left"), (0, 10), (0, 22)),
]

READ_PATH = {
    "gateway": Box(0, 2, "edge", "API Gateway", "from clients"),
    "room": Box(1, 0, "function", "read_room, read_frame", "history of a room"),
    "user": Box(1, 1, "function", "read_user", "read_conversations"),
    "analytics": Box(1, 2, "function", "read_analytics", "any window of chat"),
    "ads": Box(1, 3, "function", "read_ads", "history and counts of clicks"),
    "ski": Box(1, 4, "function", "read_ski", "skiers, resort days"),
    "newest": Box(2, 0, "store", "ElastiCache", "newest page of a room"),
    "slots": Box(2, 2, "store", "ElastiCache", "closed slots"),
    "ad_slots": Box(2, 3, "store", "ElastiCache", "closed slots"),
    "days": Box(2, 4, "store", "ElastiCache", "counts of a resort's day"),
    "messages": Box(3, 0, "store", "ChatMessagesTable"),
    "rights": Box(3, 1, "store", "UserIndex", "rooms, memberships"),
    "time": Box(3, 2, "store", "TimeIndex", "of ChatMessagesTable"),
    "clicks": Box(3, 3, "store", "AdClicksTable", "read by its three indexes"),
    "rides": Box(3, 4, "store", "LiftRidesTable", "and its ResortDayIndex"),
}
READ_ARROWS = [
    *(Arrow("gateway", name) for name in ("room", "user", "analytics", "ads", "ski")),
    *(
        arrow
        for name, cache, table in (
            ("room", "newest", "messages"),
            ("analytics", "slots", "time"),
            ("ads", "ad_slots", "clicks"),
            ("ski", "days", "rides"),
        )
        for arrow in (Arrow(name, cache), Arrow(cache, table, "missing", label_moved=(-3, 0)))
    ),
    Arrow("user", "rights"),
]

RESORT_DAY = {
    "filling": Box(0, 0, "store", "filling"),
    "filled": Box(1, 0, "store", "filled"),
    "confirmed": Box(2, 0, "store", "confirmed"),
    "none": Box(1, 1, "edge", "no counts"),
}
RESORT_DAY_ARROWS = [
    Arrow("filling", "filled", "index read"),
    Arrow("filled", "confirmed", "read again"),
    Arrow("none", "filling", "first question", ("left", "bottom"), (10, -30), (0, 20)),
    Arrow("filling", "none", "lost", ("bottom", "left"), (30, -10)),
    Arrow("filled", "none", "lost", ("bottom", "top"), (0, 0), (16, 8)),
    Arrow("confirmed", "none", "lost", ("bottom", "right")),
]

DIAGRAMS = {
    "architecture": ("The write path of Headrace with its three lanes", WRITE_PATH, WRITE_ARROWS),
    "resort-day": ("The states of the counts of a resort's day", RESORT_DAY, RESORT_DAY_ARROWS),
    "read-path": ("The read path of Headrace: functions, caches and tables", READ_PATH, READ_ARROWS),
}


def svg(title: str, boxes: Mapping[str, Box], arrows: Sequence[Arrow]) -> str:
    """A diagram as an SVG document."""
    width = max(box.x for box in boxes.values()) + WIDTH + MARGIN
    height = max(box.y for box in boxes.values()) + HEIGHT + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker>',
        f'<rect class="page" width="{width}" height="{height}" rx="6"/>',
    ]
    for arrow in arrows:
        lines += _arrow(arrow, boxes)
    for box in boxes.values():
        lines += _box(box)
    return "\n".join([*lines, "</svg>", ""])


def _box(box: Box) -> list[str]:
    middle, top = box.x + WIDTH / 2, box.y + (23 if box.note else 32)
    note = f'<text class="small" x="{middle:g}" y="{top + 18}">{escape(box.note)}</text>'
    return [
        f'<rect class="{box.kind}" x="{box.x}" y="{box.y}" width="{WIDTH}" height="{HEIGHT}" rx="5"/>',
        f'<text x="{middle:g}" y="{top}">{escape(box.title)}</text>',
        *([note] if box.note else []),
    ]


def _arrow(arrow: Arrow, boxes: Mapping[str, Box]) -> list[str]:
    (side1, side2), (shift1, shift2) = arrow.sides, arrow.shifts
    x1, y1 = boxes[arrow.start].side(side1, shift1)
    x2, y2 = boxes[arrow.end].side(side2, shift2)
    middle = (x1 + x2) / 2
    corners: list[tuple[float, float]]
    if x1 == x2 or y1 == y2:
        corners = []
    elif side1 in ("top", "bottom"):
        corners = [(x1, y2)]
    elif side2 in ("top", "bottom"):
        corners = [(x2, y1)]
    else:
        corners = [(middle, y1), (middle, y2)]
    points = [(x1, y1), *corners, (x2, y2)]
    drawn = [f'<path marker-end="url(#head)" d="M{"L".join(f"{x:g} {y:g}" for x, y in points)}"/>']
    if arrow.label:
        start, end = max(pairwise(points), key=lambda line: abs(line[0][0] - line[1][0]))
        x = (start[0] + end[0]) / 2 + arrow.label_moved[0]
        y = (start[1] + end[1]) / 2 - 6 + arrow.label_moved[1]
        drawn.append(f'<text class="small" x="{x:g}" y="{y:g}">{escape(arrow.label)}</text>')
    return drawn


if __name__ == "__main__":
    for name, (title, boxes, arrows) in DIAGRAMS.items():
        (FOLDER / f"{name}.svg").write_text(svg(title, boxes, arrows), encoding="utf-8")
