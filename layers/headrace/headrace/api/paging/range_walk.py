"""Fills a page from ranges of one partition: reads them in order until the page is full.

A position is a sort key, or a text between two of them. Reading continues after it, or before it towards older rows.
There need not be a row at the position.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from headrace.core.times import Interval, micros_of
from headrace.storage.reading import RangeQuery, RangeReader, Rows

AT_ONCE = 8
"""Ranges that are read in parallel at most, once the first ones turn out to have few rows."""
SPANS_LIMIT = 16
"""Spans that a query is split into at most, so that a page costs no query for each of a thousand intervals."""


@dataclass(frozen=True, slots=True)
class Span:
    """Sort keys from ``lower`` to ``upper``, with no key equal to ``upper``; ``None``: no bound.

    Rows in its ``gaps``, pairs of such bounds in order, are read and not shown.
    """

    lower: str | None
    upper: str | None
    gaps: tuple[tuple[str, str], ...] = ()

    def shows(self, key: str) -> bool:
        """Whether a row between the bounds may be shown."""
        at = bisect_right(self.gaps, key, key=lambda gap: gap[0])
        return at == 0 or key >= self.gaps[at - 1][1]

    def holds(self, first: str, last: str) -> bool:
        """Whether all rows from ``first`` to ``last`` may be shown."""
        is_inside = (self.lower is None or self.lower <= first) and (self.upper is None or last < self.upper)
        return is_inside and not any(start <= last and first < end for start, end in self.gaps)


ALL_KEYS = Span(None, None)
Range = tuple[RangeQuery, Span]
"""A query, and the span that it reads."""


@dataclass(frozen=True, slots=True)
class ReadBudget:
    """The limit of reading for one page: it ends after ``reads`` of ``rows`` each that did not fill the page."""

    reads: int
    rows: int


def spans_of(intervals: Iterable[Interval] | None, start: str | None, end: str | None) -> list[Span]:
    """The spans of ``intervals`` that lie within ``start`` and ``end``, oldest first; ``None`` is all time.

    Adjacent spans are joined. If there are more than ``SPANS_LIMIT``, those that are closest together become one span
    with gaps. ``start`` (inclusive) and ``end`` (exclusive) are canonical times, or ``None`` for no bound.
    """
    times: list[tuple[str | None, str | None]]
    times = [(None, None)] if intervals is None else [(each.joined_at, each.left_at) for each in intervals]
    spans: list[Span] = []
    for joined_at, left_at in times:
        lower = max((bound for bound in (joined_at, start) if bound is not None), default=None)
        upper = min((bound for bound in (left_at, end) if bound is not None), default=None)
        if lower is not None and upper is not None and lower >= upper:
            continue
        span = Span(lower, upper)
        if spans and spans[-1].upper == span.lower and span.lower is not None:
            spans[-1] = Span(spans[-1].lower, span.upper)
        else:
            spans.append(span)
    return _joined(spans)


def _joined(spans: list[Span]) -> list[Span]:
    """At most ``SPANS_LIMIT`` spans: the widest gaps stay between spans."""
    if len(spans) <= SPANS_LIMIT:
        return spans
    gaps = [(before.upper or "", after.lower or "") for before, after in pairwise(spans)]
    widest = sorted(range(len(gaps)), key=lambda at: micros_of(gaps[at][1]) - micros_of(gaps[at][0]))
    ends = sorted(widest[1 - SPANS_LIMIT :])
    return [
        Span(spans[first].lower, spans[last].upper, tuple(gaps[first:last]))
        for first, last in zip([0, *(end + 1 for end in ends)], [*ends, len(spans) - 1], strict=True)
    ]


def ranges(
    rows: RangeQuery, spans: Sequence[Span], place: Mapping[str, str] | None, newest_first: bool
) -> Iterator[Range]:
    """``rows`` over each span that is still to be read, in reading order, after the position ``place``.

    ``place`` has a value for each attribute of the position; ``None``: from the beginning.
    """
    position = place[rows.sort_attribute] if place is not None else None
    for span in reversed(spans) if newest_first else spans:
        after_lower = position is None or span.lower is None or position > span.lower
        before_upper = position is None or span.upper is None or position < span.upper
        if not (after_lower if newest_first else before_upper):
            continue
        start = None
        # DynamoDB refuses a start outside of the range. A span that lies wholly ahead needs none.
        if place is not None and after_lower and before_upper:
            start = {rows.partition_attribute: rows.partition, **place}
        yield replace(rows, lower=span.lower, upper=span.upper, start=start, newest_first=newest_first), span


Sees = Callable[[Mapping[str, Any]], bool | None]
"""Whether a row may be shown; ``None``: unknown, so the page ends before it."""


def read_page(
    reader: RangeReader,
    queries: Iterable[Range],
    limit: int,
    now: int,
    effort: ReadBudget,
    sees: Sees | None = None,
    at_once: int = 1,
) -> Rows:
    """Up to ``limit`` rows of ``queries``, in order, without those that expired by ``now`` (epoch seconds).

    The first ``at_once`` queries are read at once. ``more`` is the key to continue after, ``None`` if there is no
    further row to show. Reading ends early, perhaps with no further row after ``more``, when ``effort`` is used up or
    ``sees`` returns ``None``.
    """
    found: list[dict[str, Any]] = []
    waiting = deque(queries)
    width, stretch, skips = at_once, 1, 0
    last: Mapping[str, Any] | None = None
    while waiting:
        batch = [waiting.popleft() for _ in range(min(width, len(waiting)))]
        size = min((limit + 1 - len(found)) * stretch, max(effort.rows, limit + 1))
        width = min(2 * width, AT_ONCE)
        for at, rows in enumerate(reader.read_many([replace(query, limit=size) for query, _ in batch])):
            query, span = batch[at]
            for row in rows.items:
                shown = row.get("expiresAt", now + 1) > now and span.shows(row[query.sort_attribute])
                seen = shown and (sees is None or sees(row))
                if seen is None:
                    return Rows(found, last)
                last = row
                if seen:
                    found.append(row)
                if len(found) > limit:
                    return Rows(found[:limit], found[limit - 1])
            if rows.more is not None:
                skips += 1
                if skips >= effort.reads:
                    return Rows(found, rows.more)
                rest = replace(query, start=rows.more, unexpired_at=now)
                waiting.extendleft(reversed([(rest, span), *batch[at + 1 :]]))
                width, stretch = 1, stretch * 4
                break
        else:
            stretch = 1
    return Rows(found, None)
