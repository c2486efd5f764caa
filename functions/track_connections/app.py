"""$connect stores the connection and chooses its subprotocol; $disconnect deletes it.

API Gateway calls $disconnect best effort, so rows also expire.
"""

from headrace.api.rates.rate_limiter import CONNECTIONS
from headrace.api.router import Route
from headrace.bootstrap.api import connection_api
from headrace.live.routes import close_connection, open_connection
from headrace.services.connections import shares

ROUTES = {
    "$connect": Route(open_connection, limit=CONNECTIONS),
    "$disconnect": Route(close_connection, scopes=None),
}

handler = connection_api(ROUTES, shares)
