"""Counts by id: exact up to 100,000 ids, then bounded in size, with a known error.

Beyond the limit, the number of ids is estimated by HyperLogLog (Heule, Nunkesser, Hall: "HyperLogLog in Practice",
2013), with linear counting for few ids. Hashes have 64 bits, and estimates are read only above 5 ids for each register,
where the raw estimate needs no correction.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from hashlib import blake2b

EXACT_IDS = 100_000
"""Ids that one counter counts exactly, in at most 20 MB of memory. Beyond, the largest counts are kept."""
_BITS = 14
REGISTERS = 1 << _BITS
_REST = 64 - _BITS
_ALPHA = 0.7213 / (1 + 1.079 / REGISTERS)
STANDARD_ERROR = 1.04 / REGISTERS**0.5
"""0.0081: two of three estimates are within it."""


class IdCounter:
    """How often each id occurred.

    While ``error`` is 0, all counts are exact. Otherwise ``counts`` has only the ids with the largest counts, each at
    most ``error`` too low. Any other id occurred at most ``error`` times, and ``distinct`` estimates the number of ids.
    """

    __slots__ = ("_tops", "counts", "distinct", "error", "limit")

    def __init__(
        self,
        counts: dict[str, int] | None = None,
        error: int = 0,
        distinct: HyperLogLog | None = None,
        limit: int = EXACT_IDS,
    ) -> None:
        self.counts = {} if counts is None else counts
        self.error = error
        self.distinct = distinct
        self.limit = limit
        self._tops: dict[int, list[tuple[str, int]]] = {}
        self._bound()

    def merge(self, other: IdCounter) -> None:
        """Add the counts of ``other``, which is not changed."""
        if self.distinct is not None or other.distinct is not None:
            sketch = self._sketch()
            if other.distinct is not None:
                sketch.merge(other.distinct)
            else:
                sketch.add(other.counts)
        mine, get = self.counts, self.counts.get
        if mine:
            for key, count in other.counts.items():
                mine[key] = get(key, 0) + count
        else:
            mine.update(other.counts)
        self.error += other.error
        self._tops.clear()
        self._bound()

    def unique(self) -> int:
        """The number of ids: exact, or an estimate within ``STANDARD_ERROR`` in two of three cases."""
        return len(self.counts) if self.distinct is None else self.distinct.estimate()

    def top(self, number: int) -> list[tuple[str, int]]:
        """The ids with the largest counts, largest first, equal ones by id."""
        if number not in self._tops:
            # Finds the least of the largest counts first: sorting all ids by count and id costs five times as much.
            least = min(heapq.nlargest(number, self.counts.values()), default=0)
            some = [pair for pair in self.counts.items() if pair[1] >= least]
            self._tops[number] = sorted(some, key=_rank)[:number]
        return self._tops[number]

    def _sketch(self) -> HyperLogLog:
        """The sketch of all ids; it is made from the counts before any is dropped."""
        if self.distinct is None:
            self.distinct = HyperLogLog()
            self.distinct.add(self.counts)
        return self.distinct

    def _bound(self) -> None:
        """Drop the smallest counts, if there are too many."""
        if len(self.counts) <= self.limit:
            return
        self._sketch()
        # Down to half of the limit, so that the next new ids do not cause another sort.
        kept = heapq.nsmallest(self.limit // 2 + 1, self.counts.items(), key=_rank)
        self.error += kept.pop()[1]
        self.counts = dict(kept)


def _rank(pair: tuple[str, int]) -> tuple[int, str]:
    return -pair[1], pair[0]


class HyperLogLog:
    """An estimate of how many different texts there were, in 16 KB. Merging two is like the union of two sets."""

    __slots__ = ("registers",)

    def __init__(self, registers: bytes | None = None) -> None:
        self.registers = bytearray(registers) if registers is not None else bytearray(REGISTERS)

    def add(self, texts: Iterable[str]) -> None:
        """Add ``texts``; adding one again changes nothing."""
        registers = self.registers
        for text in texts:
            value = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
            place = value >> _REST
            rank = _REST - (value & ((1 << _REST) - 1)).bit_length() + 1
            if rank > registers[place]:
                registers[place] = rank

    def merge(self, other: HyperLogLog) -> None:
        """Add the texts of ``other``."""
        self.registers = bytearray(map(max, self.registers, other.registers))

    def estimate(self) -> int:
        """The number of different texts, within ``STANDARD_ERROR`` in two of three cases."""
        raw = _ALPHA * REGISTERS * REGISTERS / sum(2.0**-rank for rank in self.registers)
        empty = self.registers.count(0)
        few = raw <= 2.5 * REGISTERS and empty
        return round(REGISTERS * math.log(REGISTERS / empty) if few else raw)
