"""GET and DELETE /users/{userId}/connections: operators see a user's WebSocket connections, and close them."""

from headrace.api.params import UserPath
from headrace.api.router import Route
from headrace.bootstrap.api import http_api
from headrace.bootstrap.operations import user_connections
from headrace.core.caller import OPS
from headrace.operations.connection_routes import (
    ClosedConnections,
    ConnectionList,
    close_connections,
    list_connections,
)

ROUTES = {
    "GET /users/{userId}/connections": Route(list_connections, (OPS,), UserPath, answer=ConnectionList),
    "DELETE /users/{userId}/connections": Route(close_connections, (OPS,), UserPath, answer=ClosedConnections),
}

handler = http_api(ROUTES, user_connections)
