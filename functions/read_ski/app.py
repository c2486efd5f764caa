"""Questions about lift rides, resorts and their seasons, and how long requests take."""

from __future__ import annotations

from typing import Any

from headrace.api.statistics import timed
from headrace.ski.asking import ski_routes
from headrace.streams.ski.routes import SkiRoutes

ROUTES = {
    "GET /skiers/{resortID}/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": SkiRoutes.day_vertical,
    "GET /skiers/{skierID}/vertical": SkiRoutes.totals,
    "GET /skiers/seasons/{seasonID}/skiers/{skierID}": SkiRoutes.days,
    "GET /skiers/seasons/{seasonID}/days/{dayID}/skiers/{skierID}": SkiRoutes.lifts,
    "GET /resorts/{resortID}/seasons/{seasonID}/day/{dayID}/skiers": SkiRoutes.unique_skiers,
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/lifts/{liftID}": SkiRoutes.lift_rides,
    "GET /resorts/{resortID}/seasons/{seasonID}/days/{dayID}/hours": SkiRoutes.hours,
    "GET /resorts": SkiRoutes.resorts,
    "GET /resorts/{resortID}/seasons": SkiRoutes.seasons,
    "POST /resorts/{resortID}/seasons": SkiRoutes.add_season,
    "GET /statistics": SkiRoutes.statistics,
}


@timed
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the question; one that cannot be asked is an answer too."""
    return ski_routes().answer(event, ROUTES.get(event["routeKey"], SkiRoutes.unknown))
