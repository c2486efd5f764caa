"""Tells the counts in the cache of every ride that is stored; what cannot be told makes a resort's counts doubtful."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.errors import CacheUnavailable, StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.core.times import Clock
from headrace.runtime.observability import report
from headrace.streams.ski.day_counts import DayCounts, counted
from headrace.streams.ski.keys import ResortDay, parse_resort_day
from headrace.streams.ski.resorts import Resorts

DOUBT = 4_000
"""Milliseconds that counts stay doubtful after a ride could not be told."""

AHEAD = 2_000
"""Milliseconds of these that must be left where a ride is to need no mark of its own: clocks differ by less."""


class RideHook:
    """An :class:`~headrace.core.stream.StoredHook`: one round trip to the cache per batch.

    While the cache is away, one small write per resort and two seconds. Only if the table of resorts refuses that too
    do rides go through the retry lane, to be told again.
    """

    def __init__(self, counts: DayCounts, resorts: Resorts, clock: Clock) -> None:
        self._counts = counts
        self._resorts = resorts
        self._clock = clock
        self._doubtful: dict[int, int] = {}

    def stored(self, _stream: Stream, items: Sequence[Item]) -> Sequence[StoreUnavailable | None]:
        """One outcome per ride."""
        days: dict[ResortDay, list[Item]] = {}
        for item in items:
            days.setdefault(parse_resort_day(item["resortDayId"]), []).append(item)
        try:
            self._counts.add(
                [(day, [counted(row["skierID"], row["rideSk"]) for row in rows]) for day, rows in days.items()]
            )
        except CacheUnavailable as error:
            report("ski counts", f"counts of rides are begun anew later: {error.message}")
            return self._doubt(days, items)
        return [None] * len(items)

    def _doubt(self, days: dict[ResortDay, list[Item]], items: Sequence[Item]) -> Sequence[StoreUnavailable | None]:
        now = self._clock.now() // 1000
        resorts = {day.resort for day in days}
        unmarked = sorted(resort for resort in resorts if self._doubtful.get(resort, 0) < now + AHEAD)
        try:
            self._resorts.doubt(unmarked, now + DOUBT)
        except StoreUnavailable as error:
            return [error] * len(items)
        self._doubtful = {resort: until for resort, until in self._doubtful.items() if until > now}
        self._doubtful.update(dict.fromkeys(unmarked, now + DOUBT))
        return [None] * len(items)
