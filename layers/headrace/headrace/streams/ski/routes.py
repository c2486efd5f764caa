"""The HTTP answers about rides, resorts and seasons, in the shapes of the public SkiDataAPI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headrace.api import responses
from headrace.api.auth import caller_from_http
from headrace.api.bodies import http_body
from headrace.api.statistics import RequestTimes
from headrace.core import times
from headrace.core.caller import ANALYTICS_READ, EVENTS_WRITE, OPS, Caller
from headrace.core.errors import FieldError, HeadraceError, InvalidRequest, NotFound, echo
from headrace.core.fields import Text
from headrace.core.times import Clock
from headrace.core.validation import invalid_event
from headrace.runtime.observability import correlate, report, report_unexpected
from headrace.streams.ski.fields import RESORT, SEASON, numbers
from headrace.streams.ski.keys import ResortDay
from headrace.streams.ski.resort_days import ResortDays
from headrace.streams.ski.resorts import Resort, Resorts, unknown_season
from headrace.streams.ski.skiers import Skiers

RESORTS_LIMIT = 50
NAME_LIMIT = 128

Answer = tuple[int, Mapping[str, Any] | str]


class SeasonRequest(BaseModel):
    """A season to add; ``resortName`` names the resort."""

    model_config = ConfigDict(strict=True, extra="ignore")

    year: Annotated[int, SEASON.validator()] = Field(description=f"a year: {SEASON.form}")
    resortName: Text | None = Field(  # noqa: N815 - as the SkiDataAPI writes it
        default=None, min_length=1, max_length=NAME_LIMIT, description=f"a text of 1 to {NAME_LIMIT} characters"
    )


@dataclass(frozen=True, slots=True)
class SkiServices:
    """What the routes ask."""

    skiers: Skiers
    days: ResortDays
    resorts: Resorts
    latencies: RequestTimes


class SkiRoutes:
    """Answers requests of one environment."""

    def __init__(self, parts: SkiServices, clock: Clock, scope_prefix: str) -> None:
        self._parts = parts
        self._clock = clock
        self._scope_prefix = scope_prefix

    def answer(self, event: Mapping[str, Any], route: Route) -> dict[str, Any]:
        """The answer to an HTTP API event: ``route``'s, or the error that stopped it. Never raises."""
        correlate(event)
        try:
            return responses.http(*route(self, event, caller_from_http(event, self._scope_prefix)))
        except HeadraceError as error:
            answer = responses.http_error(error)
            if answer["statusCode"] >= 500:
                report(type(error).__name__, f"a question about rides has no answer: {error.message}", level="error")
            return answer
        except Exception as error:  # noqa: BLE001 - reported, and answered as an error
            report_unexpected(error)
            return responses.http_error(error)

    def day_vertical(self, event: Mapping[str, Any], caller: Caller) -> Answer:
        """The vertical of a skier's day at a resort, as a bare number."""
        self._reader(caller)
        resort, season, day, skier = numbers(_path(event), "resortID", "seasonID", "dayID", "skierID")
        self._parts.resorts.get(resort).require(season)
        return 200, str(self._parts.skiers.day_vertical(skier, ResortDay(resort, season, day)))

    def totals(self, event: Mapping[str, Any], caller: Caller) -> Answer:
        """A skier's vertical by resort and season, of the resorts asked for."""
        self._reader(caller)
        (skier,) = numbers(_path(event), "skierID")
        resort_ids, season = totals_query(event.get("queryStringParameters"))
        if season is not None:
            asked = [self._parts.resorts.get(each) for each in resort_ids]
            if not any(season in each.seasons for each in asked):
                raise unknown_season(season, *asked)
        return 200, {"resorts": self._parts.skiers.totals(skier, resort_ids, season)}

    def days(self, event: Mapping[str, Any], caller: Caller) -> Answer:
        """The days a skier skied in a season."""
        self._reader(caller)
        season, skier = numbers(_path(event), "seasonID", "skierID")
        self._season_anywhere(season)
        days = self._parts.skiers.days(skier, season)
        return 200, {"skierID": skier, "seasonID": str(season), "daysSkied": len(days), "days": days}

    def lifts(self, event: Mapping[str, Any], caller: Caller) -> Answer:
        """The lifts of a skier's day, in order, repeats kept."""
        self._reader(caller)
        season, day, skier = numbers(_path(event), "seasonID", "dayID", "skierID")
        self._season_anywhere(season)
        found = self._parts.skiers.day(skier, season, day)
        return 200, {"skierID": skier, "seasonID": str(season), "dayID": day, **found}

    def unique_skiers(self, event: Mapping[str, Any], caller: Caller) -> Answer:
        """How many skiers a resort had on a day; ``time`` is when that was so."""
        counts = self._parts.days.counts(self._resort_day(event, caller))
        return 200, {"time": times.iso(self._clock.now()), "numSkiers": counts.skiers}

    def lift_rides(self, event: Mapping[str, Any], caller: Caller) -> Answer:
        """How many rides a lift had on a day."""
        day = self._resort_day(event, caller)
        (lift,) = numbers(_path(event), "liftID")
        return 200, {"liftID": lift, "rides": self._parts.days.counts(day, [lift]).lifts.get(lift, 0)}

    def hours(self, event: Mapping[str, Any], caller: Caller) -> Answer:
        """How many rides a resort had in each hour of a day."""
        counts = self._parts.days.counts(self._resort_day(event, caller))
        return 200, {"hours": [{"hour": hour, "rides": rides} for hour, rides in enumerate(counts.hours)]}

    def resorts(self, _event: Mapping[str, Any], caller: Caller) -> Answer:
        """All resorts that have a season."""
        self._reader(caller)
        return 200, {"resorts": [_resort_body(each) for each in self._parts.resorts.every()]}

    def seasons(self, event: Mapping[str, Any], caller: Caller) -> Answer:
        """The seasons of a resort."""
        self._reader(caller)
        (resort,) = numbers(_path(event), "resortID")
        seasons = self._parts.resorts.get(resort).seasons
        if not seasons:
            allowed = "one of GET /resorts; POST /resorts/{resortID}/seasons adds one"
            detail = FieldError("resortID", "is not a resort that has a season", resort, allowed)
            raise NotFound("resortID is not a resort that has a season", details=[detail])
        return 200, {"seasons": [str(season) for season in sorted(seasons)]}

    def add_season(self, event: Mapping[str, Any], caller: Caller) -> Answer:
        """Add a season to a resort, which need not be known; the same one twice is one."""
        caller.require(EVENTS_WRITE, now=self._clock.now())
        (resort,) = numbers(_path(event), "resortID")
        season, name = season_request(http_body(event))
        self._parts.resorts.add_season(resort, season, name)
        return 201, {"resortID": resort, "seasonID": str(season)}

    def statistics(self, _event: Mapping[str, Any], caller: Caller) -> Answer:
        """Mean and longest time of each route."""
        caller.require(ANALYTICS_READ, OPS, now=self._clock.now())
        return 200, self._parts.latencies.read()

    def unknown(self, _event: Mapping[str, Any], _caller: Caller) -> Answer:
        """Refuse a route that there is not."""
        raise NotFound("there is no such route")

    def _reader(self, caller: Caller) -> None:
        caller.require(ANALYTICS_READ, now=self._clock.now())

    def _resort_day(self, event: Mapping[str, Any], caller: Caller) -> ResortDay:
        self._reader(caller)
        return ResortDay(*numbers(_path(event), "resortID", "seasonID", "dayID"))

    def _season_anywhere(self, season: int) -> None:
        every = self._parts.resorts.every()
        if not any(season in each.seasons for each in every):
            raise unknown_season(season, *every)


Route = Callable[[SkiRoutes, Mapping[str, Any], Caller], Answer]


def totals_query(query: Mapping[str, str] | None) -> tuple[list[int], int | None]:
    """The resorts (one or more, separated by commas) and the season, if any, that a query names.

    Raises:
        InvalidRequest: names every parameter that is wrong, what came, and what is allowed.
    """
    given = dict(query or {})
    wrong = [
        FieldError(str(echo(name)), "is not a parameter of this route", echo(given[name]), "resort, season")
        for name in given
        if name not in ("resort", "season")
    ]
    resorts: list[int] = []
    parts = [part.strip() for part in given.get("resort", "").split(",")] if given.get("resort") else []
    allowed = f"1 to {RESORTS_LIMIT} resorts, separated by commas or repeated; each {RESORT.form}"
    if not 0 < len(parts) <= RESORTS_LIMIT:
        wrong.append(FieldError("resort", "is missing" if not parts else "names too many", None, allowed))
    for part in parts[:RESORTS_LIMIT]:
        try:
            resorts.append(RESORT.check(part))
        except ValueError as error:
            wrong.append(FieldError("resort", str(error), echo(part), allowed))
    season = None
    if "season" in given:
        try:
            season = SEASON.check(given["season"])
        except ValueError as error:
            wrong.append(FieldError("season", str(error), echo(given["season"]), SEASON.form))
    if wrong:
        raise InvalidRequest(f"{wrong[0].field} {wrong[0].message}", details=wrong)
    return resorts, season


def season_request(body: Mapping[str, Any]) -> tuple[int, str | None]:
    """The season to add, and the resort's name, if one came.

    Raises:
        InvalidRequest: names every field that is wrong, what came, and what is allowed.
    """
    try:
        request = SeasonRequest.model_validate(body)
    except ValidationError as error:
        invalid = invalid_event(SeasonRequest, error)
        raise InvalidRequest(invalid.message, details=invalid.details) from None
    return request.year, request.resortName


def _path(event: Mapping[str, Any]) -> Mapping[str, str]:
    found: Mapping[str, str] = event.get("pathParameters") or {}
    return found


def _resort_body(resort: Resort) -> dict[str, Any]:
    return {"resortID": resort.resort_id, "resortName": resort.name or f"Resort {resort.resort_id}"}
