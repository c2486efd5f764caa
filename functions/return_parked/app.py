"""GET /parked, POST /parked/return: what the broker gave up to deliver, and bringing it back one by one."""

from __future__ import annotations

from typing import Any

from headrace.api.statistics import timed
from headrace.operations.parked_routes import ParkedRoutes
from headrace.parking import parked_routes

ROUTES = {"GET /parked": ParkedRoutes.depth, "POST /parked/return": ParkedRoutes.bring_back}


@timed
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the request; one that is refused is an answer too."""
    return parked_routes().answer(event, ROUTES.get(event["routeKey"], ParkedRoutes.unknown))
