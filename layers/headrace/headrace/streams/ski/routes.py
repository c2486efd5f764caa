"""The routes of rides, resorts and seasons, with the paths and answers of the public SkiDataAPI."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from headrace.api.params import Params
from headrace.api.router import Request
from headrace.api.statistics import RequestTimes
from headrace.core import times
from headrace.core.errors import FieldError, NotFound
from headrace.core.fields import Number, Text, accepts, whole_number
from headrace.storage.ports import RangeQuery, RangeReader
from headrace.streams.ski import answers
from headrace.streams.ski.resort_days import ResortDays
from headrace.streams.ski.resorts import Resorts, unknown_season
from headrace.streams.ski.stream import (
    RESORTS,
    SEASONS,
    SKI,
    VERTICAL_PER_LIFT,
    DayID,
    LiftID,
    ResortDay,
    ResortID,
    ResortNumber,
    Ride,
    SeasonID,
    SeasonNumber,
    SkierID,
    day_bounds,
    parse_ride_sk,
    season_bounds,
)

RESORTS_LIMIT = 50
NAME_LIMIT = 128
PAGE = 10_000
"""Rides in one read; DynamoDB ends a page at 1 MB."""


class ResortPath(Params):
    """A resort."""

    resort: ResortID


class ResortDayPath(ResortPath):
    """A resort's day."""

    season: SeasonID
    day: DayID

    @property
    def resort_day(self) -> ResortDay:
        """The day as a key."""
        return ResortDay(self.resort, self.season, self.day)


class LiftDayPath(ResortDayPath):
    """A lift's day at a resort."""

    lift: LiftID


class SkierResortDayPath(ResortDayPath):
    """A skier's day at a resort."""

    skier: SkierID


class SkierPath(Params):
    """A skier."""

    skier: SkierID


class SkierSeasonPath(SkierPath):
    """A skier's season."""

    season: SeasonID


class SkierDayPath(SkierSeasonPath):
    """A skier's day, at any resort."""

    day: DayID


def _split(value: object) -> list[str]:
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) and value else []
    if not 0 < len(parts) <= RESORTS_LIMIT:
        message = "names too many" if parts else "is missing"
        raise PydanticCustomError("number_of_resorts", message, {"got": None})
    return parts


_LIST = accepts(minItems=1, maxItems=RESORTS_LIMIT)
_RESORT_FORM = "a whole number from {} to {}".format(*RESORTS)
_SEASON_FORM = "a whole number from {} to {}".format(*SEASONS)


class TotalsQuery(Params):
    """The resorts to add up, and the seasons to restrict them to."""

    resorts: Annotated[list[ResortNumber], BeforeValidator(_split), _LIST] = Field(
        alias="resort",
        description=f"1 to {RESORTS_LIMIT} resorts, separated by commas or repeated; each {_RESORT_FORM}",
    )
    seasons: Annotated[list[SeasonNumber], BeforeValidator(_split), _LIST] | None = Field(
        default=None,
        alias="season",
        description=f"1 to {RESORTS_LIMIT} seasons, separated by commas or repeated; each {_SEASON_FORM}",
    )


class SeasonBody(Params):
    """A season to add; ``resortName`` names the resort."""

    unknown = "is not a field of this route"

    year: Number = whole_number(*SEASONS, "a year: a whole number")
    resort_name: Text | None = Field(
        default=None, min_length=1, max_length=NAME_LIMIT, description=f"a text of 1 to {NAME_LIMIT} characters"
    )


@dataclass(frozen=True, slots=True)
class SkiServices:
    """What the routes use: ``reader`` reads rides from ``table``."""

    reader: RangeReader
    table: str
    days: ResortDays
    resorts: Resorts
    request_times: RequestTimes


def day_vertical(services: SkiServices, request: Request[SkierResortDayPath, None, None]) -> int:
    """Get the vertical of a skier's day at a resort; the body is the number alone."""
    path = request.path
    services.resorts.get(path.resort).require(path.season)
    rides = _rides(services, request, day_bounds(path.season, path.day))
    return _vertical(ride for ride in rides if ride.resort == path.resort)


def totals(services: SkiServices, request: Request[SkierPath, TotalsQuery, None]) -> answers.Totals:
    """Get a skier's vertical at the given resorts, by resort and season. Without ``season``, of all seasons.

    SkiDataAPI has both parameters, and lets them be repeated.
    """
    resorts, seasons = dict.fromkeys(request.query.resorts), request.query.seasons
    bounds: tuple[str | None, str | None] = (None, None)
    if seasons is not None:
        asked = [services.resorts.get(each) for each in resorts]
        unknown = set(seasons).difference(*(each.seasons for each in asked))
        if unknown:
            raise unknown_season(min(unknown), *asked, field="season")
        bounds = season_bounds(min(seasons))[0], season_bounds(max(seasons))[1]
    found: dict[tuple[int, int], list[Ride]] = {}
    for ride in _rides(services, request, bounds):
        if ride.resort in resorts and (seasons is None or ride.season in seasons):
            found.setdefault((ride.resort, ride.season), []).append(ride)
    return {
        "resorts": [
            {"resortID": resort, "seasonID": str(season), "totalVert": _vertical(rides)}
            for (resort, season), rides in sorted(found.items())
        ]
    }


def days(services: SkiServices, request: Request[SkierSeasonPath, None, None]) -> answers.Days:
    """List the days that a skier skied in a season."""
    season, skier = request.path.season, request.path.skier
    _require_season(services, season)
    found = groupby(_rides(services, request, season_bounds(season)), lambda ride: ride.day)
    listed = [_day(day, list(rides)) for day, rides in found]
    return {"skierID": skier, "seasonID": str(season), "daysSkied": len(listed), "days": listed}


def lifts(services: SkiServices, request: Request[SkierDayPath, None, None]) -> answers.DayLifts:
    """Get a skier's day: its vertical, its lifts in order of time, and its rides."""
    season, day, skier = request.path.season, request.path.day, request.path.skier
    _require_season(services, season)
    rides = list(_rides(services, request, day_bounds(season, day)))
    listed: list[answers.RideItem] = [
        {"time": ride.time, "resortID": ride.resort, "liftID": ride.lift, "rideID": ride.ride_id} for ride in rides
    ]
    return {"skierID": skier, "seasonID": str(season), **_day(day, rides), "rides": listed}


def unique_skiers(services: SkiServices, request: Request[ResortDayPath, None, None]) -> answers.UniqueSkiers:
    """Count the unique skiers of a resort on a day, as of ``time``."""
    counts = services.days.counts(request.path.resort_day)
    return {"time": times.iso(request.now), "numSkiers": counts.skiers}


def lift_rides(services: SkiServices, request: Request[LiftDayPath, None, None]) -> answers.LiftRides:
    """Count the rides of a lift on a day."""
    lift = request.path.lift
    return {"liftID": lift, "rides": services.days.counts(request.path.resort_day, [lift]).lifts.get(lift, 0)}


def hours(services: SkiServices, request: Request[ResortDayPath, None, None]) -> answers.Hours:
    """Count the rides of a resort in each hour of a day."""
    counts = services.days.counts(request.path.resort_day)
    return {"hours": [{"hour": hour, "rides": rides} for hour, rides in enumerate(counts.hours)]}


def resorts(services: SkiServices, _request: Request[None, None, None]) -> answers.Resorts:
    """List the resorts that have a season."""
    every = [(each.resort_id, each.name) for each in services.resorts.every()]
    return {"resorts": [{"resortID": resort, "resortName": name or f"Resort {resort}"} for resort, name in every]}


def seasons(services: SkiServices, request: Request[ResortPath, None, None]) -> answers.Seasons:
    """List the seasons of a resort."""
    resort = request.path.resort
    found = services.resorts.get(resort).seasons
    if not found:
        allowed = "one of GET /resorts; POST /resorts/{resortID}/seasons adds one"
        detail = FieldError("resortID", "is not a resort that has a season", resort, allowed)
        raise NotFound("resortID is not a resort that has a season", details=[detail])
    return {"seasons": [str(season) for season in sorted(found)]}


def add_season(services: SkiServices, request: Request[ResortPath, None, SeasonBody]) -> answers.AddedSeason:
    """Add a season to a resort. An unknown resort is created; a known season changes nothing."""
    resort, season = request.path.resort, request.body.year
    services.resorts.add_season(resort, season, request.body.resort_name)
    return {"resortID": resort, "seasonID": str(season)}


def statistics(services: SkiServices, _request: Request[None, None, None]) -> dict[str, Any]:
    """Get the mean and the longest duration of each route's requests."""
    return services.request_times.read()


def _require_season(services: SkiServices, season: int) -> None:
    """Raise NotFound, with the seasons that exist, unless any resort has ``season``."""
    every = services.resorts.every()
    if not any(season in each.seasons for each in every):
        raise unknown_season(season, *every)


def _rides(
    services: SkiServices, request: Request[Any, Any, None], bounds: tuple[str | None, str | None]
) -> Iterator[Ride]:
    """The skier's rides within ``bounds`` of their keys, in order; the reads are consistent."""
    query = RangeQuery(
        services.table,
        SKI.partition_key,
        str(request.path.skier),
        SKI.sort_key,
        lower=bounds[0],
        upper=bounds[1],
        newest_first=False,
        limit=PAGE,
        consistent=True,
        unexpired_at=request.now // times.SECOND,
    )
    while True:
        page = services.reader.read(query)
        for row in page.items:
            yield parse_ride_sk(row[SKI.sort_key])
        if page.more is None:
            return
        query = replace(query, start=page.more)


def _day(day: int, rides: Sequence[Ride]) -> answers.SkiedDay:
    return {"dayID": day, "vertical": _vertical(rides), "lifts": [ride.lift for ride in rides]}


def _vertical(rides: Iterable[Ride]) -> int:
    return sum(VERTICAL_PER_LIFT * ride.lift for ride in rides)
