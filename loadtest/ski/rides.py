"""Made-up rides of a few resorts' days, and what every question about them must answer."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

SEASON = 2025
RESORTS, DAYS, LIFTS = 10, 2, 40
RIDES_OF_A_SKIER = 20
OPENS, CLOSES = 8 * 60, 17 * 60
TWINS = 50
"""One ride in so many happens twice: the same lift, the same minute, told apart by ``rideID``."""


class Ride(NamedTuple):
    """One ride. ``ride_id`` is empty where its other fields are enough."""

    resort: int
    day: int
    skier: int
    time: int
    lift: int
    ride_id: str = ""

    def path(self) -> str:
        """Where it is posted alone."""
        return f"/skiers/{self.resort}/seasons/{SEASON}/days/{self.day}/skiers/{self.skier}"

    def body(self) -> dict[str, Any]:
        """What is posted there."""
        return {"time": self.time, "liftID": self.lift, **({"rideID": self.ride_id} if self.ride_id else {})}

    def whole(self) -> dict[str, Any]:
        """As one of a batch."""
        place = {"resortID": self.resort, "seasonID": SEASON, "dayID": self.day, "skierID": self.skier}
        return place | self.body()


@dataclass(frozen=True)
class Season:
    """The rides of one run; ``name`` makes its resorts and skiers its own, so that an earlier run's rides are not in
    any answer."""

    name: int
    rides: tuple[Ride, ...]

    @property
    def resorts(self) -> list[int]:
        """The resorts, in order."""
        return sorted({ride.resort for ride in self.rides})

    def only(self, rides: Sequence[Ride]) -> Season:
        """The same season with these of its rides alone."""
        return Season(self.name, tuple(rides))

    def of_skiers(self) -> dict[int, list[Ride]]:
        """Each skier's rides, in the order in which they were ridden."""
        found: dict[int, list[Ride]] = defaultdict(list)
        for ride in self.rides:
            found[ride.skier].append(ride)
        return {skier: sorted(rides, key=lambda ride: (ride.day, ride.time)) for skier, rides in found.items()}

    def of_days(self) -> dict[tuple[int, int], ResortDay]:
        """What each resort saw on each day."""
        found: dict[tuple[int, int], ResortDay] = defaultdict(ResortDay.empty)
        for ride in self.rides:
            day = found[ride.resort, ride.day]
            day.skiers.add(ride.skier)
            day.hours[ride.time // 60] += 1
            day.lifts[ride.lift] += 1
        return dict(found)


@dataclass(frozen=True)
class ResortDay:
    """One resort's day."""

    skiers: set[int]
    hours: Counter[int]
    lifts: Counter[int]

    @classmethod
    def empty(cls) -> ResortDay:
        """Before the lifts run."""
        return cls(set(), Counter(), Counter())


def make_season(rides: int, name: int) -> Season:
    """``rides`` rides, the same for the same ``name`` (up to 900,000)."""
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
                if chance.randrange(TWINS) == 0:
                    yield ride._replace(ride_id=f"again-{time}")


def dealt(rides: Sequence[Ride], hands: int, chance: random.Random) -> list[list[Ride]]:
    """``rides`` in random order, in ``hands`` equal parts: no client knows a skier alone."""
    shuffled = list(rides)
    chance.shuffle(shuffled)
    return [shuffled[hand::hands] for hand in range(hands)]
