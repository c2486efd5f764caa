"""Charts have no line where there is no value."""

from __future__ import annotations

import re

from loadtest.report.plots import Line, LineChart, svg


def test_a_line_is_interrupted_where_there_is_no_value() -> None:
    line = Line("<a>", [(0, 1.0), (1, 2.0), (2, None), (3, 3.0), (4, 1.0), (5, None)])

    drawn = svg(LineChart("t", "u", [line], 5, log=True))

    paths = [path for path in re.findall(r'<path d="([^"]*)"[^>]*stroke: var\(--0969da\)', drawn) if "\nL" in path]
    assert paths[0].count("M") == 2
    assert "&lt;a&gt;" in drawn
