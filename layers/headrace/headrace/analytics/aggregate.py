"""Aggregates of a span of time: counts by user and by group, first and last time; from rows or merged."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headrace.analytics.counter import IdCounter
from headrace.analytics.time_slots import HOUR, MINUTE, Slot
from headrace.core.times import micros_of
from headrace.storage.ports import Columns

TIME_LENGTH, MINUTE_LENGTH = 27, 16
"""Characters of a canonical time, and of one up to its minute."""
POINT_STEPS = (MINUTE, HOUR)
"""Longer slots list the counts of these steps, so that a series needs no shorter slots."""

Points = dict[int, tuple[int, int]]
"""The number of events and of users by the start of a step; steps without events are left out."""


@dataclass(slots=True)
class Aggregate:
    """Counts of events. ``tallies`` are by user, then by each group.

    ``first`` and ``last`` are the times of the first and last event, ``""`` if there is none. ``expires`` is when the
    first of its rows expires (epoch seconds, 0: never): from then on the aggregate counts too many.
    """

    tallies: tuple[IdCounter, ...]
    total: int = 0
    first: str = ""
    last: str = ""
    expires: int = 0
    points: dict[int, Points] = field(default_factory=lambda: {step: {} for step in POINT_STEPS})

    @classmethod
    def nothing(cls, tallies: int) -> Aggregate:
        """An aggregate of no events."""
        return cls(tuple(IdCounter() for _ in range(tallies)))

    def merge(self, other: Aggregate) -> None:
        """Add ``other``, the aggregate of another span of time, which is not changed."""
        if not other.total:
            return
        self.total += other.total
        self.first = min(self.first, other.first) if self.first else other.first
        self.last = max(self.last, other.last)
        self.expires = _sooner(self.expires, other.expires)
        for mine, theirs in zip(self.tallies, other.tallies, strict=True):
            mine.merge(theirs)
        for step, points in other.points.items():
            self.points[step].update(points)

    def mark(self, slot: Slot) -> None:
        """Add a point for ``slot``, if this is its whole aggregate and its step has points."""
        if self.total and slot.step in self.points:
            self.points[slot.step][slot.start] = (self.total, self.tallies[0].unique())


@dataclass(slots=True)
class _Minute:
    counters: tuple[Counter[str], ...]
    total: int = 0
    first: str = ""
    last: str = ""
    expires: int = 0


class MinuteCounter:
    """Counts rows by minute as they are read; ``attributes`` are the user's, then each group's.

    Rows that expired by ``now`` (epoch seconds) and are not deleted yet are left out, as in histories. With ``only``,
    rows with other values are left out too.
    """

    def __init__(self, attributes: Sequence[str], now: int, only: Mapping[str, str] | None = None) -> None:
        self._attributes = attributes
        self._now = now
        self._only = only or {}
        self._minutes: dict[str, _Minute] = {}

    def add(self, rows: Columns) -> None:
        """Count ``rows``, which must be sorted by their keys."""
        rows = self._living(rows)
        keys, start = rows.keys, 0
        while start < len(keys):
            minute = keys[start][:MINUTE_LENGTH]
            # ";" follows ":", which follows the minute in every key.
            end = bisect_left(keys, minute + ";", start)
            self._count(minute, rows, start, end)
            start = end

    def aggregates(self) -> dict[int, Aggregate]:
        """The aggregates by the start of their minute; minutes without rows are left out."""
        found = {}
        for text, minute in self._minutes.items():
            start = micros_of(f"{text}:00.000000Z") // 1_000_000
            tallies = tuple(IdCounter(dict(counter)) for counter in minute.counters)
            found[start] = Aggregate(tallies, minute.total, minute.first, minute.last, minute.expires)
            found[start].mark(Slot(start, MINUTE))
        return found

    def _living(self, rows: Columns) -> Columns:
        keep = [not 0 < second <= self._now for second in rows.expires] if any(rows.expires) else []
        for name, value in self._only.items():
            fits = [each == value for each in rows.values[name]]
            keep = list(map(all, zip(keep, fits, strict=True))) if keep else fits
        return rows if not keep or all(keep) else rows.only(keep)

    def _count(self, text: str, rows: Columns, start: int, end: int) -> None:
        minute = self._minutes.get(text)
        if minute is None:
            minute = self._minutes[text] = _Minute(tuple(Counter() for _ in self._attributes))
        minute.total += end - start
        for counter, name in zip(minute.counters, self._attributes, strict=True):
            counter.update(rows.values[name][start:end])
        first, last = rows.keys[start][:TIME_LENGTH], rows.keys[end - 1][:TIME_LENGTH]
        minute.first = min(minute.first or first, first)
        minute.last = max(minute.last, last)
        living = set(rows.expires[start:end]) - {0}
        if living:
            minute.expires = _sooner(minute.expires, min(living))


def _sooner(one: int, other: int) -> int:
    """The sooner of two times of expiry; 0 is never."""
    return min(one, other) if one and other else one or other
