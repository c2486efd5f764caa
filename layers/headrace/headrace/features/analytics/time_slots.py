"""Divides a window of time into slots: ten seconds, minutes, hours and so on, in UTC. Times of slots are in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from headrace.core import times

TEN_SECONDS, MINUTE, TEN_MINUTES, HOUR, DAY = 10, 60, 600, 3600, 86400
STEPS = (TEN_SECONDS, MINUTE, TEN_MINUTES, HOUR, DAY)
"""Each divides the next."""
LENGTHS = {TEN_SECONDS: 18, MINUTE: 16}
"""Characters of the part of a canonical time that says in which ten seconds or minute it is."""
_BELOW = dict(zip(STEPS[1:], STEPS, strict=False))


def start_of(text: str) -> int:
    """The start (epoch seconds) of the step that is written as the first characters of a time."""
    return times.micros_of(text + "1970-01-01T00:00:00.000000Z"[len(text) :]) // times.SECOND


class Slot(NamedTuple):
    """``step`` seconds from ``start``, a multiple of ``step``."""

    start: int
    step: int

    @property
    def end(self) -> int:
        """The first second after the slot."""
        return self.start + self.step

    @property
    def span(self) -> Span:
        """Its times."""
        return Span(self.start * times.SECOND, self.end * times.SECOND)

    def parts(self) -> list[Slot]:
        """The slots of the next shorter step within it; ten seconds have none."""
        below = _BELOW.get(self.step)
        return [] if below is None else [Slot(start, below) for start in range(self.start, self.end, below)]


class Span(NamedTuple):
    """Times from ``start`` (inclusive) to ``end`` (exclusive), in microseconds."""

    start: int
    end: int

    def within(self, other: Span) -> Span:
        """The part of it that is in ``other``, which overlaps it."""
        return Span(max(self.start, other.start), min(self.end, other.end))


class Pieces(NamedTuple):
    """A window in the order of time: its slots, and its tail, which is not closed yet."""

    slots: list[Slot]
    tail: Span | None


def pieces(window: Span, closed_until: int, longest: int = DAY) -> Pieces:
    """``window`` as the fewest slots that end by ``closed_until`` (seconds), and its tail.

    No slot is longer than ``longest`` seconds. The window may cut its first slot and its last, which are ten seconds
    then.
    """
    closed = Span(0, closed_until // TEN_SECONDS * TEN_SECONDS * times.SECOND)
    if closed.end <= window.start:
        return Pieces([], window)
    tail = Span(closed.end, window.end) if closed.end < window.end else None
    return Pieces(list(_fewest(window.within(closed), longest)), tail)


def _fewest(window: Span, longest: int) -> Iterator[Slot]:
    start = window.start // times.SECOND // TEN_SECONDS * TEN_SECONDS
    while start * times.SECOND < window.end:
        fits = (Slot(start, step) for step in reversed(STEPS) if step <= longest and start % step == 0)
        yield (slot := next((slot for slot in fits if slot.span.within(window) == slot.span), Slot(start, TEN_SECONDS)))
        start = slot.end
