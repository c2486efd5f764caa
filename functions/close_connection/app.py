"""$disconnect: deletes the connection. API Gateway calls it best effort, so rows also expire."""

from headrace.api.router import Route
from headrace.bootstrap.api import connection_api
from headrace.bootstrap.live import connections
from headrace.live.connection_routes import close_connection

ROUTES = {"$disconnect": Route(close_connection, scopes=None)}

handler = connection_api(ROUTES, connections)
