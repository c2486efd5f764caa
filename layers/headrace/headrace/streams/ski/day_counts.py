"""Counts of a resort's day in the cache: a set of rides, and what follows from each ride counted as it joins the set.

All of it lies under one key, so that the cache loses it as a whole or not at all. A ride joins once, however often it
is told; a day that nobody asked about is not there, and is told nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from headrace.streams.ski.keys import ResortDay, parse_ride_sk, ride_mark

FILLING, FILLED, CONFIRMED = "filling", "filled", "confirmed"

MINUTES = 60
HOURS = 24


class CountedRide(NamedTuple):
    """What is counted of a ride; ``mark`` stands for its whole key."""

    mark: bytes
    skier: str
    lift: int
    time: int


def counted(skier: str, sk: str) -> CountedRide:
    """What is counted of a row."""
    ride = parse_ride_sk(sk)
    return CountedRide(ride_mark(skier, sk), skier, ride.lift, ride.time)


@dataclass(slots=True)
class Counts:
    """Rides of one day: unique ``skiers``, rides by lift and by hour of the day."""

    skiers: int = 0
    lifts: Mapping[int, int] = field(default_factory=dict)
    hours: Sequence[int] = (0,) * HOURS

    @classmethod
    def of(cls, rides: Iterable[CountedRide]) -> Counts:
        """The counts of ``rides``; equal marks are one ride."""
        unique = {ride.mark: ride for ride in rides}
        lifts: dict[int, int] = {}
        hours = [0] * HOURS
        for ride in unique.values():
            lifts[ride.lift] = lifts.get(ride.lift, 0) + 1
            hours[ride.time // MINUTES] += 1
        return cls(len({ride.skier for ride in unique.values()}), lifts, hours)


@dataclass(frozen=True, slots=True)
class State:
    """How far the counts of a day are.

    ``since`` (epoch milliseconds): rides that were told from then on are in it. The others are, as far as a table's
    index showed them, once it is ``filled``, and all of them are once it is ``confirmed``.
    """

    generation: str
    since: int
    stage: str


class DayCounts(Protocol):
    """Counts by resort's day. Times are epoch milliseconds; every method may raise CacheUnavailable."""

    def read(self, day: ResortDay, lifts: Sequence[int] = ()) -> tuple[State, Counts] | None:
        """The counts as they stand, of ``lifts`` only those; ``None``: there are none."""
        ...

    def begin(self, day: ResortDay, generation: str, now: int, after: int, patience: int, until: int) -> bool:
        """Start anew, unless there are counts that were begun after ``after``, and are filled or were told of less than
        ``patience`` ago by whoever fills them. They are gone at ``until``."""
        ...

    def claim(self, day: ResortDay, generation: str, now: int, patience: int) -> bool:
        """Whether the caller may confirm the counts: not if somebody was at it less than ``patience`` ago."""
        ...

    def add(
        self, rides: Sequence[tuple[ResortDay, Sequence[CountedRide]]], generation: str | None = None, now: int = 0
    ) -> bool:
        """Let rides join the counts of their days, where there are any; whether all of the days had them.

        Whoever fills or confirms names the ``generation``, and so says that it is still at it.
        """
        ...

    def settle(self, day: ResortDay, generation: str, stage: str, until: int) -> None:
        """Say how far the counts are, and let them be gone at ``until`` at the latest."""
        ...
