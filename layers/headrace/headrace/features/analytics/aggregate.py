"""Aggregates of a span of time: counts by user and by group, first and last time; from rows, merged, or as bytes."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode, b64encode
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

from pydantic_core import from_json, to_json

from headrace.core.keys import TIME_LENGTH
from headrace.features.analytics.counter import HyperLogLog, IdCounter
from headrace.features.analytics.time_slots import HOUR, LENGTHS, MINUTE, Slot, start_of
from headrace.storage.reading import Columns

POINT_STEPS = (MINUTE, HOUR)
"""Longer slots list the counts of these steps, so that a series needs no shorter slots."""

Number = int | Decimal


@dataclass(slots=True)
class Sum:
    """The sum of the numbers of an attribute, exact; the ``count`` of events that have it, the least and the most."""

    count: int = 0
    total: Number = 0
    least: Number = 0
    most: Number = 0

    def merge(self, other: Sum) -> None:
        """Add ``other``, the sum of other events."""
        if other.count:
            self.least = min(self.least, other.least) if self.count else other.least
            self.most = max(self.most, other.most) if self.count else other.most
            self.total = EXACT.add(Decimal(self.total), Decimal(other.total))
            self.count += other.count


EXACT = Context(prec=400)
"""No number of a table, with at most 38 digits from 1E-130 to 1E+125, is rounded when it is added."""


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
    sums: tuple[Sum, ...] = ()

    @classmethod
    def nothing(cls, tallies: int, sums: int = 0) -> Aggregate:
        """An aggregate of no events."""
        return cls(tuple(IdCounter() for _ in range(tallies)), sums=tuple(Sum() for _ in range(sums)))

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
        for total, more in zip(self.sums, other.sums, strict=True):
            total.merge(more)
        for step, points in other.points.items():
            self.points[step].update(points)

    def mark(self, slot: Slot) -> None:
        """Add a point for ``slot``, if this is its whole aggregate and its step has points."""
        if self.total and slot.step in self.points:
            self.points[slot.step][slot.start] = (self.total, self.tallies[0].unique())


class StepCounter:
    """Counts rows by minute or ten seconds (``step``) as they are read.

    ``attributes`` are the user's, then each group's; ``sums`` are those of numbers. Rows that expired by ``now``
    (epoch seconds) and are not deleted
    yet are left out, as in histories. With ``only``, rows with other values are left out too.
    """

    def __init__(
        self,
        attributes: Sequence[str],
        now: int,
        only: Mapping[str, str] | None = None,
        step: int = MINUTE,
        sums: Sequence[str] = (),
    ) -> None:
        self._sums = sums
        self._attributes = attributes
        self._now = now
        self._only = only or {}
        self._step = step
        self._found: dict[str, tuple[Aggregate, tuple[Counter[str], ...]]] = {}

    def add(self, rows: Columns) -> None:
        """Count ``rows``, which must be sorted by their keys."""
        rows = self._living(rows)
        keys, start = rows.keys, 0
        while start < len(keys):
            step = keys[start][: LENGTHS[self._step]]
            # ";" follows all digits and ":", one of which follows in every key.
            end = bisect_left(keys, step + ";", start)
            self._count(step, rows, start, end)
            start = end

    def aggregates(self) -> dict[int, Aggregate]:
        """The aggregates by the start of their step; steps without rows are left out."""
        for text, (found, counters) in self._found.items():
            found.tallies = tuple(IdCounter(dict(counter)) for counter in counters)
            found.mark(Slot(start_of(text), self._step))
        return {start_of(text): found for text, (found, _) in self._found.items()}

    def _living(self, rows: Columns) -> Columns:
        keep = [not 0 < second <= self._now for second in rows.expires] if any(rows.expires) else []
        for name, value in self._only.items():
            fits = [each == value for each in rows.values[name]]
            keep = list(map(all, zip(keep, fits, strict=True))) if keep else fits
        return rows if not keep or all(keep) else rows.only(keep)

    def _count(self, text: str, rows: Columns, start: int, end: int) -> None:
        if text not in self._found:
            nothing = Aggregate.nothing(0, len(self._sums))
            self._found[text] = nothing, tuple(Counter() for _ in self._attributes)
        found, counters = self._found[text]
        found.total += end - start
        for counter, name in zip(counters, self._attributes, strict=True):
            counter.update(rows.values[name][start:end])
        for total, name in zip(found.sums, self._sums, strict=True):
            total.merge(sum_of(rows.values[name][start:end]))
        first, last = rows.keys[start][:TIME_LENGTH], rows.keys[end - 1][:TIME_LENGTH]
        found.first = min(found.first or first, first)
        found.last = max(found.last, last)
        living = set(rows.expires[start:end]) - {0}
        if living:
            found.expires = _sooner(found.expires, min(living))


def sum_of(texts: Sequence[str]) -> Sum:
    """The sum of numbers as a table writes them; events without one have an empty text."""
    numbers = [int(text) if text.isdecimal() else Decimal(text) for text in texts if text]
    if not numbers:
        return Sum()
    total = Decimal(0)
    whole = sum(each for each in numbers if type(each) is int)
    for each in numbers:
        if type(each) is Decimal:
            total = EXACT.add(total, each)
    return Sum(len(numbers), EXACT.add(total, Decimal(whole)), min(numbers), max(numbers))


def _sooner(one: int, other: int) -> int:
    """The sooner of two times of expiry; 0 is never."""
    return min(one, other) if one and other else one or other


LAYOUT = 3
"""The first byte; a changed layout gets another number."""

_HEAD = struct.Struct("<BIHBQ")  # layout, checksum of the rest, shards, tallies, expires
_CHECKED = 5
"""The offset of the bytes that the checksum covers."""
_LEVEL = 1


class UnknownLayout(Exception):
    """Not an aggregate of this layout, or of another number of tallies, or of fewer shards."""


def encode(aggregate: Aggregate, shards: int) -> bytes:
    """``aggregate``, which was read from ``shards`` time shards, as bytes: a head, and compressed JSON."""
    content = [
        [aggregate.total, aggregate.first, aggregate.last],
        [_columns(each) for each in aggregate.tallies],
        [[[start, *counts] for start, counts in aggregate.points[step].items()] for step in POINT_STEPS],
        [[each.count, str(each.total), str(each.least), str(each.most)] for each in aggregate.sums],
    ]
    head = _HEAD.pack(LAYOUT, 0, shards, len(aggregate.tallies), aggregate.expires)
    rest = head[_CHECKED:] + zlib.compress(to_json(content), _LEVEL)
    return struct.pack("<BI", LAYOUT, zlib.crc32(rest)) + rest


def check(data: bytes, tallies: int, shards: int) -> int:
    """Check that :func:`decode` can read ``data``. Returns when its first row expires (epoch seconds, 0: never).

    Raises:
        UnknownLayout: of another layout, of another number of tallies, damaged, or read from fewer than ``shards`` time
            shards.
    """
    try:
        layout, checksum, covered, number, expires = _HEAD.unpack_from(data)
    except struct.error:
        raise UnknownLayout from None
    if layout != LAYOUT or number != tallies or covered < shards or zlib.crc32(data[_CHECKED:]) != checksum:
        raise UnknownLayout
    return int(expires)


def decode(data: bytes) -> Aggregate:
    """The aggregate in ``data``, for which :func:`check` did not raise."""
    *_, expires = _HEAD.unpack_from(data)
    (total, first, last), tallies, points, sums = from_json(zlib.decompress(data[_HEAD.size :]), cache_strings="none")
    return Aggregate(
        tuple(_tally(*each) for each in tallies),
        total,
        first,
        last,
        expires,
        {step: {at: (count, users) for at, count, users in points[number]} for number, step in enumerate(POINT_STEPS)},
        tuple(Sum(count, *map(Decimal, numbers)) for count, *numbers in sums),
    )


def _columns(tally: IdCounter) -> list[Any]:
    """Ids in order, and their counts: together they are smaller than pairs."""
    counts = dict(sorted(tally.counts.items()))
    registers = None if tally.distinct is None else b64encode(tally.distinct.registers).decode()
    return [list(counts), list(counts.values()), tally.error, registers]


def _tally(ids: list[str], counts: list[int], error: int, registers: str | None) -> IdCounter:
    distinct = None if registers is None else HyperLogLog(b64decode(registers))
    return IdCounter(dict(zip(ids, counts, strict=True)), error, distinct)
