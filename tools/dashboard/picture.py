"""Draws the dashboard as SVG, for light and dark pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from loadtest.report.drawing import Box, picture, text
from loadtest.report.line_chart import Line, LineChart
from tools.dashboard.definition import SERVICE, Widget
from tools.dashboard.recording import MINUTE, Recording, is_local

PICTURE = Path(__file__).parents[2] / "docs" / "diagrams" / "dashboard.svg"
TITLE = "The dashboard of a stage, with the numbers of a local run"
UNIT, GAP = 44, 10
"""Pixels of a unit of the dashboard's grid, and between two widgets."""
NO_LOCAL_NUMBER = "only on AWS"


def svg(widgets: Sequence[Widget], recording: Recording) -> str:
    """The dashboard as an SVG document."""
    width = max(each.x + each.width for each in widgets) * UNIT + GAP
    height = max(each.y + each.height for each in widgets) * UNIT + GAP
    elements = (element for each in widgets for element in chart(each, recording))
    return picture(f"{TITLE}, {recording.day}", width, height, elements)


def chart(widget: Widget, recording: Recording) -> Iterator[str]:
    """The elements of one widget."""
    box = Box(widget.x * UNIT + GAP, widget.y * UNIT + GAP, widget.width * UNIT - GAP, widget.height * UNIT - GAP)
    missing = [each for each in widget.lines if not is_local(each)]
    if len(missing) == len(widget.lines):
        yield from box.frame(widget.title, widget.unit)
        x, y = box.center
        yield text(x, y + 4, NO_LOCAL_NUMBER, "title middle")
        return
    lines = [
        Line(each.label.replace(f"{SERVICE}-", ""), tuple(each.points.items()))
        for line in widget.lines
        if is_local(line)
        for each in recording.series(line)
    ]
    note = f"{NO_LOCAL_NUMBER}: {len(missing)} more" if missing else ""
    last = max(1, (recording.minutes - 1) * MINUTE)
    yield from LineChart(widget.title, widget.unit, lines, last, box, note=note).elements()
