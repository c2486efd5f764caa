"""GET /users/{userId}/rooms, PUT /rooms/{roomId}/read: a user's rooms with what is unread, and what they have read."""

from __future__ import annotations

from typing import Any

from headrace.api.statistics import timed
from headrace.conversing import list_rooms, mark_read, unknown
from headrace.reading import answer_body

ROUTES = {"GET /users/{userId}/rooms": list_rooms, "PUT /rooms/{roomId}/read": mark_read}


@timed
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the request; one that is refused is an answer too."""
    return answer_body(event, ROUTES.get(event["routeKey"], unknown))
