"""Adds every stored ride to the counts in the cache, and invalidates a resort's counts when that fails."""

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

INVALID_FOR = 4_000
"""Milliseconds for which counts stay invalid after a ride could not be added."""
AHEAD = 2_000
"""Milliseconds that must remain of an earlier invalidation for it to cover another ride: clocks differ by less."""


class RideHook:
    """Adds rides to counts, in one round trip to the cache per batch.

    While the cache is unavailable, it writes at most one item per resort every two seconds. Rides go to the retry lane,
    to be added later, only when the table of resorts is unavailable too.
    """

    def __init__(self, counts: DayCounts, resorts: Resorts, clock: Clock) -> None:
        self._counts = counts
        self._resorts = resorts
        self._clock = clock
        self._invalid_until: dict[int, int] = {}

    def after_store(self, _stream: Stream, items: Sequence[Item]) -> Sequence[StoreUnavailable | None]:
        days: dict[ResortDay, list[Item]] = {}
        for item in items:
            days.setdefault(parse_resort_day(item["resortDayId"]), []).append(item)
        try:
            self._counts.add(
                [(day, [counted(row["skierID"], row["rideSk"]) for row in rows]) for day, rows in days.items()]
            )
        except CacheUnavailable as error:
            report("ski counts", f"counts are invalidated and started again later: {error.message}")
            return self._invalidate(days, items)
        return [None] * len(items)

    def _invalidate(
        self, days: dict[ResortDay, list[Item]], items: Sequence[Item]
    ) -> Sequence[StoreUnavailable | None]:
        now = self._clock.now() // 1000
        resorts = {day.resort for day in days}
        uncovered = sorted(resort for resort in resorts if self._invalid_until.get(resort, 0) < now + AHEAD)
        try:
            self._resorts.invalidate_counts(uncovered, now + INVALID_FOR)
        except StoreUnavailable as error:
            return [error] * len(items)
        self._invalid_until = {resort: until for resort, until in self._invalid_until.items() if until > now}
        self._invalid_until.update(dict.fromkeys(uncovered, now + INVALID_FOR))
        return [None] * len(items)
