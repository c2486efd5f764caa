"""The frame that renews a connection's token. It needs no valid token beside the new one."""

from headrace.api.rates.rate_limiter import CHANGES
from headrace.api.router import Route
from headrace.bootstrap.api import frame_api
from headrace.bootstrap.live import renewal
from headrace.core.errors import Forbidden, NotFound, TokenExpired, Unauthorized
from headrace.live.routes import Authenticated, AuthenticateFrame, authenticate

ERRORS = (Unauthorized, TokenExpired, Forbidden, NotFound)

ROUTES = {
    "authenticate": Route(
        authenticate, scopes=None, body=AuthenticateFrame, answer=Authenticated, errors=ERRORS, limit=CHANGES
    )
}

handler = frame_api(ROUTES, renewal)
