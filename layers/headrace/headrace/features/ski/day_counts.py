"""Counts of a resort's day in the cache: a set of rides, and sums that are updated when a ride is added to the set.

All of it is stored under one key, so that the cache loses all or nothing. Only days that were asked for have counts.
The stages of counts, as a state diagram: docs/explanation/ski.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from headrace.core.errors import CacheUnavailable, StoreUnavailable
from headrace.core.items import Item
from headrace.core.keys import SEPARATOR
from headrace.core.times import Clock
from headrace.features.ski.dynamodb import Resorts
from headrace.features.ski.stream import TAKEN_BACK, ResortDay, parse_resort_day, ride_mark
from headrace.runtime.observability import report

if TYPE_CHECKING:
    from headrace.features.ski.redis import DayCounts

FILLING, FILLED, CONFIRMED = "filling", "filled", "confirmed"
MINUTES = 60
HOURS = 24
INVALID_FOR = 4_000
"""Milliseconds for which counts stay invalid after a ride could not be added."""
AHEAD = 2_000
"""Milliseconds that must remain of an earlier invalidation for it to cover another ride: clocks differ by less."""


class CountedRide(NamedTuple):
    """The counted attributes of a ride; ``mark`` is a short form of its key.

    One that is ``taken_back`` says that this ride does not count, whether it was added before or is added later.
    """

    mark: bytes
    skier: str
    lift: int
    time: int
    taken_back: bool = False


def counted(skier: str, sk: str) -> CountedRide:
    """The counted attributes of a row: of a ride, or of one that was taken back."""
    ride = sk.removesuffix(TAKEN_BACK)
    parts = ride.split(SEPARATOR, 5)
    return CountedRide(ride_mark(skier, ride), skier, int(parts[4]), int(parts[2]), len(ride) < len(sk))


@dataclass(slots=True)
class Counts:
    """Rides of one day: unique ``skiers``, rides by lift and by hour of the day."""

    skiers: int = 0
    lifts: Mapping[int, int] = field(default_factory=dict)
    hours: Sequence[int] = (0,) * HOURS

    @classmethod
    def of(cls, rides: Iterable[CountedRide]) -> Counts:
        """The counts of ``rides``; equal marks are one ride."""
        unique: dict[bytes, CountedRide] = {}
        for ride in rides:
            if ride.taken_back or ride.mark not in unique:
                unique[ride.mark] = ride
        standing = [ride for ride in unique.values() if not ride.taken_back]
        lifts: dict[int, int] = {}
        hours = [0] * HOURS
        for ride in standing:
            lifts[ride.lift] = lifts.get(ride.lift, 0) + 1
            hours[ride.time // MINUTES] += 1
        return cls(len({ride.skier for ride in standing}), lifts, hours)


@dataclass(frozen=True, slots=True)
class Coverage:
    """The stage of a day's counts.

    They contain all rides stored at ``since`` (epoch milliseconds) or later. Of earlier rides they contain those that
    the index showed once they are ``filled``, and all once they are ``confirmed``.
    """

    generation: str
    since: int
    stage: str


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

    def after_store(self, items: Sequence[Item]) -> Sequence[StoreUnavailable | None]:
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
