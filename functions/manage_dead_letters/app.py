"""GET /dead-letters, POST /dead-letters/redrive, POST /dead-letters/discard: what is dead and why, and what to do."""

from __future__ import annotations

from typing import Any

from headrace.dead_routes import DeadRoutes
from headrace.managing import dead_routes

ROUTES = {
    "GET /dead-letters": DeadRoutes.list,
    "POST /dead-letters/redrive": DeadRoutes.redrive,
    "POST /dead-letters/discard": DeadRoutes.discard,
}


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the request; one that is refused is an answer too."""
    return dead_routes().answer(event, ROUTES.get(event["routeKey"], DeadRoutes.unknown))
