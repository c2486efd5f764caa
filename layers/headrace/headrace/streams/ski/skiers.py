"""Vertical, days and lifts of one skier, from consistent reads of all of the skier's rides in question."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

from headrace.core import times
from headrace.core.times import Clock
from headrace.storage.ports import RangeQuery, RangeReader
from headrace.streams.ski.answers import ResortTotal, SkiedDay
from headrace.streams.ski.fields import VERTICAL_PER_LIFT
from headrace.streams.ski.keys import ResortDay, Ride, day_bounds, parse_ride_sk, season_bounds

PAGE = 10_000
"""Rows in one read; DynamoDB ends a page at 1 MB."""


class Skiers:
    """Reads the rides of one skier from ``table``. Every method may raise StoreUnavailable."""

    def __init__(self, reader: RangeReader, table: str, clock: Clock) -> None:
        self._reader = reader
        self._table = table
        self._clock = clock

    def day_vertical(self, skier: int, day: ResortDay) -> int:
        """The vertical of the skier's day at one resort."""
        rides = self._rides(skier, *day_bounds(day.season, day.day))
        return vertical(ride for ride in rides if ride.resort == day.resort)

    def totals(self, skier: int, resorts: Iterable[int], seasons: Collection[int] | None) -> list[ResortTotal]:
        """Vertical by resort and season, of ``resorts`` only; a resort and season without rides is left out.

        The rides from the first to the last of ``seasons`` are read; ``None`` is all seasons.
        """
        asked = set(resorts)
        bounds = (None, None) if seasons is None else (season_bounds(min(seasons))[0], season_bounds(max(seasons))[1])
        found: dict[tuple[int, int], int] = {}
        for ride in self._rides(skier, *bounds):
            if ride.resort in asked and (seasons is None or ride.season in seasons):
                place = ride.resort, ride.season
                found[place] = found.get(place, 0) + vertical([ride])
        return [
            {"resortID": resort, "seasonID": str(in_season), "totalVert": total}
            for (resort, in_season), total in sorted(found.items())
        ]

    def days(self, skier: int, season: int) -> list[SkiedDay]:
        """The days skied in a season, each with its vertical and the lift of each ride in order."""
        days: dict[int, list[Ride]] = {}
        for ride in self._rides(skier, *season_bounds(season)):
            days.setdefault(ride.day, []).append(ride)
        return [
            {"dayID": day, "vertical": vertical(rides), "lifts": [ride.lift for ride in rides]}
            for day, rides in days.items()
        ]

    def day(self, skier: int, season: int, day: int) -> dict[str, Any]:
        """One day: its vertical, the lift of each ride in order, and the rides with time and resort."""
        rides = list(self._rides(skier, *day_bounds(season, day)))
        listed = [
            {"time": ride.time, "resortID": ride.resort, "liftID": ride.lift, "rideID": ride.ride_id} for ride in rides
        ]
        return {"vertical": vertical(rides), "lifts": [ride.lift for ride in rides], "rides": listed}

    def _rides(self, skier: int, lower: str | None, upper: str | None) -> Iterator[Ride]:
        query = RangeQuery(
            self._table,
            "skierID",
            str(skier),
            "rideSk",
            lower=lower,
            upper=upper,
            newest_first=False,
            limit=PAGE,
            consistent=True,
            unexpired_at=self._clock.now() // times.SECOND,
        )
        while True:
            page = self._reader.read(query)
            for row in page.items:
                yield parse_ride_sk(row["rideSk"])
            if page.more is None:
                return
            query = replace(query, start=page.more)


def vertical(rides: Iterable[Ride]) -> int:
    """The vertical of ``rides``."""
    return sum(VERTICAL_PER_LIFT * ride.lift for ride in rides)
