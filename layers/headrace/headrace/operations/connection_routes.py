"""HTTP routes of a user's connections: list them, and close them."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import TypedDict

from headrace.api.params import UserPath
from headrace.api.router import Request
from headrace.core.errors import Unavailable
from headrace.core.fields import CanonicalTime
from headrace.live.connections import Connections
from headrace.live.management import ConnectionManager
from headrace.runtime.observability import audit
from headrace.runtime.threads import Parallel

AT_ONCE = 8
CONNECTIONS = 200
"""Connections of one request. A user has 50 at most, but a trusted producer any number."""
TRIED = 2000
"""Connections that one request tries to close. API Gateway may have closed them without a notice."""
ROOMS = 100
"""Rooms that are shown of each connection."""


class UserConnection(TypedDict):
    """An open connection. `lastActiveAt` is when API Gateway last saw a frame of it.

    `rooms` are the first 100 of the `roomCount` rooms that it follows.
    """

    connectionId: str
    connectedAt: CanonicalTime
    lastActiveAt: CanonicalTime
    rooms: list[str]
    roomCount: int


class ConnectionList(TypedDict):
    """A user's open connections, the oldest first; with `hasMore`, only 200 of them were looked at."""

    connections: list[UserConnection]
    hasMore: bool


class ClosedConnections(TypedDict):
    """How many connections were closed; with `hasMore`, repeat the request."""

    closed: int
    hasMore: bool


@dataclass(frozen=True)
class UserConnections:
    """What the routes use."""

    connections: Connections
    manager: ConnectionManager
    parallel: Parallel


def list_connections(services: UserConnections, request: Request[UserPath, None, None]) -> ConnectionList:
    """List a user's open connections."""
    found = sorted(services.connections.rooms_of_user(request.path.user_id).items())
    asked = found[:CONNECTIONS]
    activities = services.parallel.map(services.manager.activity, [each for each, _ in asked])
    shown: list[UserConnection] = [
        {
            "connectionId": connection_id,
            "connectedAt": activity.connected_at,
            "lastActiveAt": activity.last_active_at,
            "rooms": sorted(rooms)[:ROOMS],
            "roomCount": len(rooms),
        }
        for (connection_id, rooms), activity in zip(asked, activities, strict=True)
        if activity is not None
    ]
    return {"connections": sorted(shown, key=lambda each: each["connectedAt"]), "hasMore": len(found) > CONNECTIONS}


def close_connections(services: UserConnections, request: Request[UserPath, None, None]) -> ClosedConnections:
    """Close all of a user's connections.

    It revokes no token: with a valid one, the user may connect again.

    Raises:
        Unavailable: some may still be open; the request may be repeated.
    """
    user_id = request.path.user_id
    found = sorted(services.connections.of_user(user_id))

    def close(connection_id: str) -> bool | Unavailable:
        try:
            return services.manager.close(connection_id)
        except Unavailable as error:
            return error

    tried, closed, failures = 0, 0, list[Unavailable]()
    # It goes on as long as all were closed already: otherwise repeated requests would try the same ones.
    while not (closed or failures) and tried < min(TRIED, len(found)):
        results = services.parallel.map(close, found[tried : tried + CONNECTIONS])
        closed, failures = results.count(True), [each for each in results if isinstance(each, Unavailable)]
        tried += CONNECTIONS
    audit("connections were closed", request.caller, user=user_id, closed=closed)
    if failures:
        raise failures[0]
    return {"closed": closed, "hasMore": tried < len(found)}
