"""Counts by id: exact up to 100,000 ids, then bounded in size, with a known error."""

from __future__ import annotations

import heapq

from headrace.analytics.hyperloglog import HyperLogLog

EXACT_IDS = 100_000
"""Ids that one tally counts exactly: 20 MB of memory at most. Beyond, the largest counts are kept."""


class IdCounter:
    """How often each id occurred.

    With ``error`` 0 it is exact. Else the ids with the largest counts are in ``counts``, each at most ``error`` too
    low, an id that is missing occurred at most ``error`` times, and ``distinct`` knows how many ids there were.
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
        """Add what ``other`` counted; ``other`` stays as it is."""
        if self.distinct is not None or other.distinct is not None:
            if other.distinct is not None:
                self._sketch().merge(other.distinct)
            else:
                self._sketch().add(other.counts)
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
        """How many ids there were: exact, or within ``distinct.STANDARD_ERROR`` two times of three."""
        return len(self.counts) if self.distinct is None else self.distinct.estimate()

    @property
    def exact(self) -> bool:
        """Whether nothing was left out."""
        return self.error == 0

    def top(self, number: int) -> list[tuple[str, int]]:
        """The ids with the largest counts, largest first, equal ones by id."""
        if number not in self._tops:
            # The least of the largest counts first: ranking every id by count and id would cost five times as much.
            least = min(heapq.nlargest(number, self.counts.values()), default=0)
            some = [pair for pair in self.counts.items() if pair[1] >= least]
            self._tops[number] = sorted(some, key=_rank)[:number]
        return self._tops[number]

    def _sketch(self) -> HyperLogLog:
        """The sketch of all ids; made of the counts while nothing is left out of them."""
        if self.distinct is None:
            self.distinct = HyperLogLog()
            self.distinct.add(self.counts)
        return self.distinct

    def _bound(self) -> None:
        """Leave out the smallest counts, if there are too many."""
        if len(self.counts) <= self.limit:
            return
        self._sketch()
        # Down to half of it, so that the next few ids do not cost as much again.
        kept = heapq.nsmallest(self.limit // 2 + 1, self.counts.items(), key=_rank)
        self.error += kept.pop()[1]
        self.counts = dict(kept)


def _rank(pair: tuple[str, int]) -> tuple[int, str]:
    return -pair[1], pair[0]
