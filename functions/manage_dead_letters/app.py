"""GET /dead-letters, POST /dead-letters/redrive, POST /dead-letters/discard: what is dead and why, and what to do."""

from __future__ import annotations

from typing import Any

from headrace.managing import dead_routes
from headrace.operations.dead_letter_routes import DeadLetterRoutes

ROUTES = {
    "GET /dead-letters": DeadLetterRoutes.list,
    "POST /dead-letters/redrive": DeadLetterRoutes.redrive,
    "POST /dead-letters/discard": DeadLetterRoutes.discard,
}


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the request; one that is refused is an answer too."""
    return dead_routes().answer(event, ROUTES.get(event["routeKey"], DeadLetterRoutes.unknown))
