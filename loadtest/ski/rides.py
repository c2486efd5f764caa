"""Generates the rides of a few resort days, and computes the expected answers to queries about them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SEASON = 2025
RESORTS, DAYS, LIFTS = 10, 2, 40
RIDES_OF_A_SKIER = 20
OPENS, CLOSES = 8 * 60, 17 * 60
SAME_MINUTE = 50
"""One ride in fifty is followed by another on the same lift in the same minute. A ``rideID`` distinguishes them."""


class Ride(NamedTuple):
    """One ride. ``ride_id`` is empty where the other fields are unique."""

    resort: int
    day: int
    skier: int
    time: int
    lift: int
    ride_id: str = ""

    def path(self) -> str:
        """The path of this skier's day."""
        return f"/skiers/{self.resort}/seasons/{SEASON}/days/{self.day}/skiers/{self.skier}"

    def event(self) -> dict[str, Any]:
        """The event as JSON, as it is sent."""
        place = {"resortID": self.resort, "seasonID": SEASON, "dayID": self.day, "skierID": self.skier}
        return place | {"time": self.time, "liftID": self.lift} | ({"rideID": self.ride_id} if self.ride_id else {})


@dataclass(frozen=True)
class Season:
    """The rides of one run. Ids of resorts and skiers contain ``name``, so answers have no rides of other runs."""

    name: int
    rides: tuple[Ride, ...]

    @property
    def resorts(self) -> list[int]:
        """The resorts, in order."""
        return sorted({ride.resort for ride in self.rides})

    def by_skier(self) -> dict[int, list[Ride]]:
        """The rides of each skier, in order of time."""
        found: dict[int, list[Ride]] = defaultdict(list)
        for ride in self.rides:
            found[ride.skier].append(ride)
        return {skier: sorted(rides, key=lambda ride: (ride.day, ride.time)) for skier, rides in found.items()}

    def by_day(self) -> dict[tuple[int, int], ResortDay]:
        """The expected counts of each (resort, day)."""
        found: dict[tuple[int, int], ResortDay] = defaultdict(ResortDay)
        for ride in self.rides:
            day = found[ride.resort, ride.day]
            day.skiers.add(ride.skier)
            day.hours[ride.time // 60] += 1
            day.lifts[ride.lift] += 1
        return dict(found)


@dataclass(frozen=True)
class ResortDay:
    """The expected counts of a resort's day."""

    skiers: set[int] = field(default_factory=set)
    hours: Counter[int] = field(default_factory=Counter)
    lifts: Counter[int] = field(default_factory=Counter)


def make_season(rides: int, name: int) -> Season:
    """Generate ``rides`` rides, the same for the same ``name`` (a number up to 900,000)."""
    chance = random.Random(f"{name}/{rides}")
    return Season(name, tuple(ride for _, ride in zip(range(rides), _ride(chance, name), strict=False)))


def _ride(chance: random.Random, name: int) -> Iterator[Ride]:
    for number in range(1_000_000):
        skier, resort = name * 1_000_000 + number, name * 1000 + number % RESORTS + 1
        for day in chance.sample(range(1, DAYS + 1), chance.randint(1, DAYS)):
            times = sorted(chance.sample(range(OPENS, CLOSES), RIDES_OF_A_SKIER // 2))
            for time in times:
                ride = Ride(resort, day, skier, time, chance.randint(1, LIFTS))
                yield ride
                if chance.randrange(SAME_MINUTE) == 0:
                    yield ride._replace(ride_id=f"again-{time}")


def post_rides(events: Sequence[Mapping[str, Any]]) -> tuple[str, Mapping[str, Any]]:
    """The path and the body that post one ride to its skier's day, or several in a batch."""
    if len(events) > 1:
        return "/lift-rides/batch", {"events": events}
    ride = events[0]
    path = f"/skiers/{ride['resortID']}/seasons/{ride['seasonID']}/days/{ride['dayID']}/skiers/{ride['skierID']}"
    return path, {name: value for name, value in ride.items() if name in ("time", "liftID", "rideID")}
