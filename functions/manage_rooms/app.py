"""PUT /rooms/{roomId}; PUT, DELETE /rooms/{roomId}/members/{userId}; GET /rooms/{roomId}/members."""

from __future__ import annotations

from typing import Any

from headrace.api.statistics import timed
from headrace.keeping import room_routes
from headrace.streams.chat.routes import RoomRoutes

ROUTES = {
    "PUT /rooms/{roomId}": RoomRoutes.create,
    "PUT /rooms/{roomId}/members/{userId}": RoomRoutes.join,
    "DELETE /rooms/{roomId}/members/{userId}": RoomRoutes.leave,
    "GET /rooms/{roomId}/members": RoomRoutes.members,
}


@timed
def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Answer the request; what it changed is in force when the answer comes."""
    return room_routes().answer(event, ROUTES.get(event["routeKey"], RoomRoutes.unknown))
