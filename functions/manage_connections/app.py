"""Operators see a user's WebSocket connections, and close them; users close their own."""

from headrace.api.params import UserPath
from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.core.caller import CHAT_READ, OPS
from headrace.features.operations.connection_routes import (
    ClosedConnections,
    ConnectionList,
    close_connections,
    close_own_connections,
    list_connections,
    user_connections,
)

ROUTES = {
    "GET /users/{userId}/connections": Route(list_connections, (OPS,), UserPath, answer=ConnectionList),
    "DELETE /users/{userId}/connections": Route(close_connections, (OPS,), UserPath, answer=ClosedConnections),
    "DELETE /connections": Route(close_own_connections, (CHAT_READ,), answer=ClosedConnections),
}

handler = http_api(ROUTES, user_connections)
