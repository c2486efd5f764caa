"""$connect: stores the connection, and chooses its subprotocol."""

from headrace.api.rates.rate_limiter import CONNECTIONS
from headrace.api.router import Route
from headrace.bootstrap.api import connection_api
from headrace.bootstrap.live import connections
from headrace.live.connection_routes import open_connection

ROUTES = {"$connect": Route(open_connection, limit=CONNECTIONS)}

handler = connection_api(ROUTES, connections)
