"""GET routes of lift rides, resorts, seasons and request durations, and POST for a season."""

from __future__ import annotations

from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.core.caller import ANALYTICS_READ, EVENTS_WRITE, OPS
from headrace.core.errors import CacheUnavailable, NotFound, StoreUnavailable
from headrace.features.ski import answers, skiers
from headrace.features.ski import routes as ski

READ, WRITE = (ANALYTICS_READ,), (EVENTS_WRITE,)
TABLE, CACHE = (StoreUnavailable,), (CacheUnavailable,)
ERRORS = (NotFound, StoreUnavailable)
UNIQUE_SKIERS = Route(ski.unique_skiers, READ, ski.ResortDayPath, answer=answers.UniqueSkiers, errors=ERRORS)

ROUTES = {
    "GET /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": Route(
        skiers.day_vertical, READ, skiers.SkierResortDayPath, answer=int, errors=ERRORS
    ),
    "GET /skiers/{skierID}/vertical": Route(
        skiers.totals, READ, skiers.SkierPath, query=skiers.TotalsQuery, answer=answers.Totals, errors=ERRORS
    ),
    "GET /skiers/seasons/{seasonID}/skiers/{skierID}": Route(
        skiers.days, READ, skiers.SkierSeasonPath, answer=answers.Days, errors=ERRORS
    ),
    "GET /skiers/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": Route(
        skiers.lifts, READ, skiers.SkierDayPath, answer=answers.DayLifts, errors=ERRORS
    ),
    "GET /resorts/{resortID}/seasons/{seasonID}/day/{dayID}/skiers": UNIQUE_SKIERS,
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/skiers": UNIQUE_SKIERS,
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/lifts/{liftID}": Route(
        ski.lift_rides, READ, ski.LiftDayPath, answer=answers.LiftRides, errors=ERRORS
    ),
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/hours": Route(
        ski.hours, READ, ski.ResortDayPath, answer=answers.Hours, errors=ERRORS
    ),
    "GET /resorts/seasons/{seasonID}/days/{dayID}/rides": Route(
        ski.all_rides, READ, ski.DayPath, answer=answers.AllRides, errors=ERRORS
    ),
    "GET /resorts": Route(ski.resorts, READ, answer=answers.Resorts, errors=TABLE),
    "GET /resorts/{resortID}/seasons": Route(ski.seasons, READ, ski.ResortPath, answer=answers.Seasons, errors=ERRORS),
    "POST /resorts/{resortID}/seasons": Route(
        ski.add_season, WRITE, ski.ResortPath, body=ski.SeasonBody, answer=answers.AddedSeason, errors=TABLE, status=201
    ),
    "GET /statistics": Route(ski.statistics, (ANALYTICS_READ, OPS), answer=answers.Statistics, errors=CACHE),
}

handler = http_api(ROUTES, ski.ski_services)
