"""HTTP routes of a user's connections: operators list and close them, and users close their own."""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from headrace.api.params import UserPath
from headrace.api.router import Request
from headrace.core.errors import Unavailable
from headrace.core.fields import CanonicalTime
from headrace.core.keys import channel_user
from headrace.core.times import SECOND, iso
from headrace.live.dynamodb import Connections
from headrace.runtime.aws import AwsClient, AwsError, call, client
from headrace.runtime.observability import audit
from headrace.runtime.threads import Parallel
from headrace.services.connections import connections

GONE = "GoneException"
AT_ONCE = 8
CONNECTIONS = 200
"""Connections that one request shows. A user has 50 at most, but a trusted producer any number."""
SECONDS_LEFT = 3.0
"""Seconds that must be left to close 200 more."""
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


@dataclass(frozen=True, slots=True)
class Activity:
    """When a connection was opened, and when API Gateway last saw a frame of it; canonical times."""

    connected_at: str
    last_active_at: str


class ConnectionManager:
    """Knows which connections are open; ``client`` is that of API Gateway's management API.

    Every method may raise Unavailable.
    """

    def __init__(self, client: AwsClient) -> None:
        self._client = client

    def activity(self, connection_id: str) -> Activity | None:
        """The activity of a connection; ``None`` if it is closed."""
        found = self._ask(self._client.get_connection, connection_id)
        return None if found is None else Activity(_time(found["ConnectedAt"]), _time(found["LastActiveAt"]))

    def close(self, connection_id: str) -> bool:
        """Close a connection; whether it was open."""
        return self._ask(self._client.delete_connection, connection_id) is not None

    def _ask(self, operation: Any, connection_id: str) -> dict[str, Any] | None:
        try:
            return call(operation, expected=(GONE,), ConnectionId=connection_id)
        except AwsError as error:
            if error.code == GONE:
                return None
            raise Unavailable(f"connections cannot be reached: {error.code}") from error


def _time(at: datetime) -> str:
    return iso(round(at.timestamp() * SECOND))


@dataclass(frozen=True)
class UserConnections:
    """What the routes use."""

    connections: Connections
    manager: ConnectionManager
    parallel: Parallel


@functools.cache
def user_connections() -> UserConnections:
    manager = ConnectionManager(client("apigatewaymanagementapi", connections=AT_ONCE))
    return UserConnections(connections(), manager, Parallel(AT_ONCE, "connections"))


def list_connections(services: UserConnections, request: Request[UserPath, None, None]) -> ConnectionList:
    """List a user's open connections."""
    followed = services.connections.rooms_of_user(request.path.user_id)
    # A connection may also follow its user.
    found = sorted((each, {room for room in rooms if channel_user(room) is None}) for each, rooms in followed.items())
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

    It revokes no token: with a valid one, the user can connect again.

    Raises:
        Unavailable: some may still be open; the request may be repeated.
    """
    user_id = request.path.user_id
    audit("connections are being closed", request.caller, user=user_id)
    found = _close(services, request, user_id)
    audit("connections were closed", request.caller, user=user_id, closed=found["closed"])
    return found


def close_own_connections(services: UserConnections, request: Request[None, None, None]) -> ClosedConnections:
    """Close all connections of the token's user, on all devices, also the one of a page that calls this.

    It revokes no token: sign out with the issuer first, or the other devices connect again.

    Raises:
        Unavailable: some may still be open; the request may be repeated.
    """
    return _close(services, request, request.caller.subject)


def _close(services: UserConnections, request: Request[Any, None, None], user_id: str) -> ClosedConnections:
    """Close as many connections as there is time for. Raises Unavailable after the others of its 200."""
    # In random order: some ended without a notice, and a repeated request must not try the same ones first.
    ids = list(services.connections.of_user(user_id))
    random.shuffle(ids)

    def close(connection_id: str) -> bool | Unavailable:
        try:
            return services.manager.close(connection_id)
        except Unavailable as error:
            return error

    tried = closed = 0
    while tried < len(ids) and request.seconds_left > SECONDS_LEFT:
        results = services.parallel.map(close, ids[tried : tried + CONNECTIONS])
        if failure := next((each for each in results if isinstance(each, Unavailable)), None):
            raise failure
        closed += results.count(True)
        tried += CONNECTIONS
    return {"closed": closed, "hasMore": tried < len(ids)}
