"""Divides a window of time into slots: minutes, ten minutes, hours and days in UTC. Times of slots are in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from headrace.core import times

MINUTE, TEN_MINUTES, HOUR, DAY = 60, 600, 3600, 86400
STEPS = (MINUTE, TEN_MINUTES, HOUR, DAY)
"""Each divides the next."""
_BELOW = {TEN_MINUTES: MINUTE, HOUR: TEN_MINUTES, DAY: HOUR}


class Slot(NamedTuple):
    """``step`` seconds from ``start``, a multiple of ``step``."""

    start: int
    step: int

    @property
    def end(self) -> int:
        """The first second after the slot."""
        return self.start + self.step

    def parts(self) -> list[Slot]:
        """The slots of the next shorter step within it; a minute has none."""
        below = _BELOW.get(self.step)
        return [] if below is None else [Slot(start, below) for start in range(self.start, self.end, below)]


class Span(NamedTuple):
    """Times from ``start`` (inclusive) to ``end`` (exclusive), in microseconds."""

    start: int
    end: int


class Pieces(NamedTuple):
    """A window in the order of time: the span before the slots, the slots, and the span after them."""

    before: Span | None
    slots: list[Slot]
    after: Span | None


def pieces(window: Span, closed_until: int, longest: int = DAY) -> Pieces:
    """``window`` as the fewest slots that end by ``closed_until`` (seconds), and the spans at its edges.

    No slot is longer than ``longest`` seconds.
    """
    first = -(-window.start // times.MINUTE) * MINUTE
    last = min(window.end // times.MINUTE * MINUTE, closed_until // MINUTE * MINUTE)
    if last <= first:
        return Pieces(window, [], None)
    start, end = first * times.SECOND, last * times.SECOND
    before = Span(window.start, start) if window.start < start else None
    return Pieces(before, list(_fewest(first, last, longest)), Span(end, window.end) if end < window.end else None)


def _fewest(start: int, end: int, longest: int) -> Iterator[Slot]:
    while start < end:
        fits = (step for step in reversed(STEPS) if start % step == 0 and start + step <= end)
        step = next(step for step in fits if step <= longest)
        yield Slot(start, step)
        start += step
