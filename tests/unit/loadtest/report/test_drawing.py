"""Charts have round axes, short names and no line where there is no value."""

from __future__ import annotations

import pytest

from loadtest.report.bar_chart import BarChart
from loadtest.report.drawing import nice, number, shortened
from loadtest.report.line_chart import Line, LineChart, duration


@pytest.mark.parametrize(("value", "end"), [(0, 1), (0.73, 1), (2, 2), (2.01, 3), (231, 300), (999, 1000)])
def test_an_axis_ends_at_a_round_number(value: float, end: float) -> None:
    assert nice(value) == pytest.approx(end)


def test_numbers_and_names_are_short() -> None:
    assert [number(each) for each in (0.05, 1500, 20_000, 3_000_000)] == ["0.05", "1,500", "20k", "3M"]
    assert len(shortened("a" * 100)) == 25
    assert [duration(each) for each in (0, 20, 120, 7200)] == ["0", "20 s", "2 min", "2 h"]


def test_a_line_is_interrupted_where_there_is_no_value() -> None:
    line = Line("a", [(0, 1.0), (1, 2.0), (2, None), (3, 3.0), (4, None), (5, None)])

    assert list(line.pieces()) == [[(0, 1.0), (1, 2.0)], [(3, 3.0)]]
    drawn = "\n".join(LineChart("t", "u", [line], 5).elements())
    assert drawn.count("<polyline") == 1
    assert drawn.count("<circle") == 3


def test_a_logarithmic_axis_has_a_label_for_each_power_of_ten() -> None:
    line = Line("a", [(0, 3.0), (1, 0.0), (2, 2_500.0)])

    drawn = "\n".join(LineChart("t", "u", [line], 2, log=True).elements())

    assert all(f">{label}</text>" in drawn for label in ("1", "10", "100", "1,000", "10k"))


def test_bars_are_drawn_for_every_group_and_name() -> None:
    drawn = "\n".join(BarChart("t", "u", ("sent", "found"), {"<a>": (4, 2), "b": (1, 0)}).elements())

    assert [drawn.count(f'class="{style}"') for style in ("s0", "s1")] == [2 + 1, 2 + 1]  # bars, and the legend
    assert "&lt;a&gt;" in drawn
