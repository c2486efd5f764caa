"""Makes the handlers of the HTTP API and the WebSocket API from routes and the services that they use.

Services are built while Lambda initializes an environment: it has a full CPU then, and a fraction of one during the
first request. An error, such as a missing setting, occurs again with the first request, which answers and logs it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from headrace.api.router import Api, Handler, Route, connection_handler, frame_handler, http_handler
from headrace.services.requests import rate_limiter, request_times, scope_prefix
from headrace.services.shared import clock
from headrace.stage.chosen import actions

_SENDING = ("sendMessage", "sendBatch", *actions())
ACTIONS = f"{', '.join(_SENDING)}, subscribe, check, resume, unsubscribe, history, ping, authenticate"
"""All actions of the WebSocket API."""


def http_api(routes: Mapping[str, Route], services: Callable[[], Any]) -> Handler:
    """The handler of HTTP ``routes``; ``services`` builds what those use that have no services of their own."""
    return http_handler(_api(routes, services), request_times)


def connection_api(routes: Mapping[str, Route], services: Callable[[], Any]) -> Handler:
    """The handler of ``$connect`` or ``$disconnect``."""
    return connection_handler(_api(routes, services))


def frame_api(routes: Mapping[str, Route], services: Callable[[], Any]) -> Handler:
    """The handler of WebSocket actions."""
    return frame_handler(_api(routes, services), ACTIONS, _renewed)


def _renewed(connection_id: str) -> int:
    # Imported here: only frames on a connection whose first token has expired need it.
    from headrace.services.connections import token_expiries

    return token_expiries().get_many([connection_id])[connection_id]


def _api(routes: Mapping[str, Route], services: Callable[[], Any]) -> Api:
    for build in {route.services or services for route in routes.values()}:
        # The first request builds again; its handler answers, logs and counts the errors.
        with contextlib.suppress(Exception):
            build()
    return Api(routes, services, clock(), scope_prefix, rate_limiter)
