"""Range walk: a page of a member of many intervals costs a bounded number of queries, and shows the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headrace.api.paging.range_walk import SPANS_LIMIT, ReadBudget, ranges, read_page, spans_of
from headrace.core.times import Interval
from headrace.storage.reading import RangeQuery
from tests.fakes.storage import MemoryReader
from tests.worlds.history_world import at, row

QUERY = RangeQuery("messages", "roomId", "lobby", "timestampSk")
BUDGET = ReadBudget(reads=64, rows=4000)


def stays(edges: Sequence[int]) -> tuple[Interval, ...]:
    """Intervals from every other second of ``edges`` to the next one."""
    return tuple(Interval(at(joined), at(left)) for joined, left in zip(edges[::2], edges[1::2], strict=False))


def test_four_hundred_intervals_cost_at_most_sixteen_ranges_to_read() -> None:
    reader = MemoryReader(lambda _: [])
    spans = spans_of(stays(range(800)), None, None)

    read_page(reader, ranges(QUERY, spans, None, True), 200, 0, BUDGET)

    assert len(reader.queries) == SPANS_LIMIT


def test_the_widest_gaps_are_not_read() -> None:
    edges = [0, 1, *range(1_000_000, 1_000_060)]

    spans = spans_of(stays(edges), None, None)

    assert (spans[0].lower, spans[0].upper) == (at(0), at(1))
    assert not spans[0].gaps


@given(
    edges=st.sets(st.integers(0, 400), max_size=160).map(sorted),
    seconds=st.sets(st.integers(0, 400), max_size=60),
    limit=st.integers(1, 12),
    newest_first=st.booleans(),
)
def test_pages_show_the_rows_of_all_intervals_and_no_others(
    edges: list[int], seconds: set[int], limit: int, newest_first: bool
) -> None:
    intervals = stays(edges)
    rows = [row(second, f"m{second}") for second in sorted(seconds)]
    reader = MemoryReader(lambda _: rows)
    wanted = [each for each in rows if any(interval.covers(each["timestamp"]) for interval in intervals)]

    shown: list[dict[str, Any]] = []
    place: dict[str, str] | None = None
    while True:
        spans = spans_of(intervals, None, None)
        found = read_page(reader, ranges(QUERY, spans, place, newest_first), limit, 0, BUDGET)
        shown += found.items
        if found.more is None:
            break
        place = {"timestampSk": found.more["timestampSk"]}

    assert shown == (wanted[::-1] if newest_first else wanted)


def test_a_span_with_gaps_holds_only_what_is_between_them() -> None:
    (span, *_) = spans_of(stays(range(80)), None, None)

    assert span.holds(at(0), at(0.5))
    assert not span.holds(at(0), at(2.5))
    assert not span.holds(at(2.5), "~")
