"""Makes the handlers of the HTTP API and the WebSocket API from routes and the services that they use.

Services are built while Lambda initializes an environment: it has a full CPU then, and a fraction of one during the
first request. An error, such as a missing setting, occurs again with the first request, which answers and logs it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from headrace.api.router import ConnectionRouter, FrameRouter, HttpRouter, Route
from headrace.bootstrap.shared import clock, rate_limiter, request_times, scope_prefix

ACTIONS = "sendMessage, sendBatch, subscribe, check, unsubscribe, history, ping, authenticate"
"""All actions of the WebSocket API."""


def http_api(routes: Mapping[str, Route], services: Callable[[], Any]) -> HttpRouter:
    """The handler of HTTP ``routes``; ``services`` builds what they use."""
    _build(services)
    return HttpRouter(routes, services, clock(), scope_prefix, request_times, limiter=rate_limiter)


def connection_api(routes: Mapping[str, Route], services: Callable[[], Any]) -> ConnectionRouter:
    """The handler of ``$connect`` or ``$disconnect``."""
    _build(services)
    return ConnectionRouter(routes, services, clock(), scope_prefix, limiter=rate_limiter)


def frame_api(routes: Mapping[str, Route], services: Callable[[], Any]) -> FrameRouter:
    """The handler of WebSocket actions."""
    _build(services)
    return FrameRouter(routes, services, clock(), scope_prefix, limiter=rate_limiter, actions=ACTIONS, renewed=_renewed)


def _renewed(connection_id: str) -> int:
    # Imported here: only frames on a connection whose first token has expired need it.
    from headrace.bootstrap.live import token_expiries

    return token_expiries().get_many([connection_id])[connection_id]


def _build(services: Callable[[], Any]) -> None:
    # The first request builds again; the router answers, logs and counts its errors.
    with contextlib.suppress(Exception):
        services()
