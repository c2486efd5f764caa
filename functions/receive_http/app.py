"""POST /rooms/{roomId}/messages and POST /messages/batch: accept events, answer 202 with one result each."""

from __future__ import annotations

from typing import Any

from headrace.http_writes import HttpWrites
from headrace.writing import http_writes

ROUTES = {"POST /rooms/{roomId}/messages": HttpWrites.post_message, "POST /messages/batch": HttpWrites.post_batch}


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the request; one that is refused is an answer too."""
    route = ROUTES.get(event["routeKey"], HttpWrites.unknown)
    return http_writes().answer(event, route)
