"""GET routes of lift rides, resorts, seasons and request durations, and POST for a season."""

from __future__ import annotations

from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.ski import ski_services
from headrace.core.caller import ANALYTICS_READ, EVENTS_WRITE, OPS
from headrace.core.errors import CacheUnavailable, NotFound, StoreUnavailable
from headrace.streams.ski import answers
from headrace.streams.ski import routes as ski

READ, WRITE = (ANALYTICS_READ,), (EVENTS_WRITE,)
TABLE = (StoreUnavailable,)
ERRORS = (NotFound, StoreUnavailable)

ROUTES = {
    "GET /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": Route(
        ski.day_vertical, READ, ski.SkierResortDayPath, answer=int, errors=ERRORS
    ),
    "GET /skiers/{skierID}/vertical": Route(
        ski.totals, READ, ski.SkierPath, query=ski.TotalsQuery, answer=answers.Totals, errors=ERRORS
    ),
    "GET /skiers/seasons/{seasonID}/skiers/{skierID}": Route(
        ski.days, READ, ski.SkierSeasonPath, answer=answers.Days, errors=ERRORS
    ),
    "GET /skiers/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": Route(
        ski.lifts, READ, ski.SkierDayPath, answer=answers.DayLifts, errors=ERRORS
    ),
    "GET /resorts/{resortID}/seasons/{seasonID}/day/{dayID}/skiers": Route(
        ski.unique_skiers, READ, ski.ResortDayPath, answer=answers.UniqueSkiers, errors=ERRORS
    ),
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/lifts/{liftID}": Route(
        ski.lift_rides, READ, ski.LiftDayPath, answer=answers.LiftRides, errors=ERRORS
    ),
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/hours": Route(
        ski.hours, READ, ski.ResortDayPath, answer=answers.Hours, errors=ERRORS
    ),
    "GET /resorts": Route(ski.resorts, READ, answer=answers.Resorts, errors=TABLE),
    "GET /resorts/{resortID}/seasons": Route(ski.seasons, READ, ski.ResortPath, answer=answers.Seasons, errors=ERRORS),
    "POST /resorts/{resortID}/seasons": Route(
        ski.add_season, WRITE, ski.ResortPath, body=ski.SeasonBody, answer=answers.AddedSeason, errors=TABLE, status=201
    ),
    "GET /statistics": Route(
        ski.statistics, (ANALYTICS_READ, OPS), answer=answers.Statistics, errors=(CacheUnavailable,)
    ),
}

handler = http_api(ROUTES, ski_services)
