"""The routes of resorts, seasons and their days, with the paths and answers of the public SkiDataAPI."""

from __future__ import annotations

import functools
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from headrace.api.params import Params
from headrace.api.router import Request
from headrace.api.statistics import RequestTimes
from headrace.core import times
from headrace.core.errors import FieldError, NotFound
from headrace.core.fields import Number, seen, seen_form, whole_number
from headrace.features.ski import answers
from headrace.features.ski.day_counts import HOURS
from headrace.features.ski.dynamodb import Resorts, stage_resorts
from headrace.features.ski.redis import DayCounts
from headrace.features.ski.resort_days import ResortDays
from headrace.features.ski.resorts import unknown_season
from headrace.features.ski.stream import LIFTS, SEASONS, SKI, DayID, LiftID, ResortDay, ResortID, SeasonID
from headrace.runtime.settings import table_settings
from headrace.runtime.threads import Parallel
from headrace.services.shared import cache, clock, dynamodb, range_reader
from headrace.storage.dynamodb.readers import PARALLEL, DynamoColumns, columns_client
from headrace.storage.reading import RangeReader

NAME_LIMIT = 128
ResortName = Annotated[str, *seen(NAME_LIMIT)]
SECONDS_OF_A_RESORT = 10.0
"""Seconds that must remain of an invocation to count one more resort's day."""


class ResortPath(Params):
    """A resort."""

    resort: ResortID


class DayPath(Params):
    """A day, at any resort."""

    season: SeasonID
    day: DayID


class ResortDayPath(DayPath, ResortPath):
    """A resort's day."""

    @property
    def resort_day(self) -> ResortDay:
        """The day as a key."""
        return ResortDay(self.resort, self.season, self.day)


class LiftDayPath(ResortDayPath):
    """A lift's day at a resort."""

    lift: LiftID


class SeasonBody(Params):
    """A season to add; ``resortName`` names the resort."""

    unknown = "is not a field of this route"

    year: Number = whole_number(*SEASONS, "a year: a whole number")
    resort_name: ResortName | None = Field(default=None, description=seen_form(NAME_LIMIT))


@dataclass(frozen=True, slots=True)
class SkiServices:
    """What the routes use: ``reader`` reads rides from ``table``."""

    reader: RangeReader
    table: str
    days: ResortDays
    resorts: Resorts
    request_times: RequestTimes


@functools.cache
def ski_services() -> SkiServices:
    """Each of the shards of a resort's day is read over a connection of its own."""
    settings, resorts = table_settings(SKI), stage_resorts(dynamodb())
    days = ResortDays(
        DynamoColumns(columns_client(PARALLEL)),
        settings.table,
        resorts,
        DayCounts(cache()),
        clock(),
        parallel=Parallel(PARALLEL, "resort-days"),
        shards=settings.time_shards.read,
    )
    return SkiServices(range_reader(), settings.table, days, resorts, RequestTimes(cache()))


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
    return {"hours": _hours(services.days.counts(request.path.resort_day).hours)}


def all_rides(services: SkiServices, request: Request[DayPath, None, None]) -> answers.AllRides:
    """Count the rides of a day on each lift and in each hour, at all resorts together.

    Lifts with one number at several resorts count together. Only resorts that have the season are counted.
    """
    season, day = request.path.season, request.path.day
    waiting = deque(resorts_of(services, season))
    asked, by_lift, by_hour = len(waiting), Counter[int](), [0] * HOURS
    while waiting and request.seconds_left > SECONDS_OF_A_RESORT:
        counts = services.days.counts(ResortDay(waiting.popleft(), season, day), range(LIFTS[0], LIFTS[1] + 1))
        by_lift.update(counts.lifts)
        by_hour = list(map(sum, zip(by_hour, counts.hours, strict=True)))
    return {
        "resorts": asked - len(waiting),
        "missing": list(waiting),
        "lifts": [{"liftID": lift, "rides": rides} for lift, rides in sorted(by_lift.items()) if rides],
        "hours": _hours(by_hour),
    }


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
        raise NotFound(details=[FieldError("resortID", "is not a resort that has a season", resort, allowed)])
    return {"seasons": [str(season) for season in sorted(found)]}


def add_season(services: SkiServices, request: Request[ResortPath, None, SeasonBody]) -> answers.AddedSeason:
    """Add a season to a resort. An unknown resort is created; a known season changes nothing."""
    resort, season = request.path.resort, request.body.year
    services.resorts.add_season(resort, season, request.body.resort_name)
    return {"resortID": resort, "seasonID": str(season)}


def statistics(services: SkiServices, _request: Request[None, None, None]) -> dict[str, Any]:
    """Get the mean and the longest duration of each route's requests."""
    return services.request_times.read()


def resorts_of(services: SkiServices, season: int) -> list[int]:
    """The resorts that have ``season``. Raises NotFound, with the seasons that exist, if there are none."""
    every = services.resorts.every()
    if found := [each.resort_id for each in every if season in each.seasons]:
        return found
    raise unknown_season(season, *every)


def _hours(rides: Sequence[int]) -> list[answers.HourRides]:
    return [{"hour": hour, "rides": count} for hour, count in enumerate(rides)]
