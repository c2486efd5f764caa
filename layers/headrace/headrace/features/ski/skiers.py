"""The questions about a skier: vertical, days and lifts, with the paths and answers of the public SkiDataAPI."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from headrace.api.params import Params
from headrace.api.router import Request
from headrace.core import times
from headrace.core.fields import accepts
from headrace.features.ski import answers
from headrace.features.ski.resorts import unknown_season
from headrace.features.ski.routes import DayPath, ResortDayPath, SkiServices, resorts_of
from headrace.features.ski.stream import (
    RESORTS,
    SEASONS,
    SKI,
    TAKEN_BACK,
    VERTICAL_PER_LIFT,
    ResortNumber,
    Ride,
    SeasonID,
    SeasonNumber,
    SkierID,
    day_bounds,
    parse_ride_sk,
    season_bounds,
)
from headrace.storage.reading import RangeQuery

RESORTS_LIMIT = 50
PAGE = 10_000
"""Rides in one read; DynamoDB ends a page at 1 MB."""


class SkierPath(Params):
    """A skier."""

    skier: SkierID


class SkierSeasonPath(SkierPath):
    """A skier's season."""

    season: SeasonID


class SkierDayPath(DayPath, SkierPath):
    """A skier's day, at any resort."""


class SkierResortDayPath(SkierPath, ResortDayPath):
    """A skier's day at a resort."""


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
    resorts_of(services, season)
    found = groupby(_rides(services, request, season_bounds(season)), lambda ride: ride.day)
    listed = [_day(day, list(rides)) for day, rides in found]
    return {"skierID": skier, "seasonID": str(season), "daysSkied": len(listed), "days": listed}


def lifts(services: SkiServices, request: Request[SkierDayPath, None, None]) -> answers.DayLifts:
    """Get a skier's day: its vertical, its lifts in order of time, and its rides."""
    season, day, skier = request.path.season, request.path.day, request.path.skier
    resorts_of(services, season)
    rides = list(_rides(services, request, day_bounds(season, day)))
    listed: list[answers.RideItem] = [
        {"time": ride.time, "resortID": ride.resort, "liftID": ride.lift, "rideID": ride.ride_id} for ride in rides
    ]
    return {"skierID": skier, "seasonID": str(season), **_day(day, rides), "rides": listed}


def _rides(
    services: SkiServices, request: Request[Any, Any, None], bounds: tuple[str | None, str | None]
) -> Iterator[Ride]:
    """The skier's rides within ``bounds`` of their keys, in order, without those that were taken back.

    The reads are consistent.
    """
    held = None
    query: RangeQuery | None = RangeQuery(
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
    while query is not None:
        page = services.reader.read(query)
        for key in (row[SKI.sort_key] for row in page.items):
            if held is not None and key != held + TAKEN_BACK:
                yield parse_ride_sk(held)
            held = None if key.endswith(TAKEN_BACK) else key
        query = replace(query, start=page.more) if page.more is not None else None
    if held is not None:
        yield parse_ride_sk(held)


def _day(day: int, rides: Sequence[Ride]) -> answers.SkiedDay:
    return {"dayID": day, "vertical": _vertical(rides), "lifts": [ride.lift for ride in rides]}


def _vertical(rides: Iterable[Ride]) -> int:
    return sum(VERTICAL_PER_LIFT * ride.lift for ride in rides)
