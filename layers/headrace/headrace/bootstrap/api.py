"""Handlers of the HTTP API and the WebSocket API: routes, with the services that their functions use.

Services are built while Lambda initializes an environment: it has a full CPU then, and a fraction of one during the
first request. What fails then, such as a setting that is missing, fails again with the first request, which is
answered and logged as every error is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from headrace.api.router import ConnectionRouter, FrameRouter, HttpRouter, Route
from headrace.bootstrap.shared import clock, request_times, scope_prefix

ACTIONS = "sendMessage, sendBatch, subscribe, unsubscribe, history, ping"
"""All actions of the WebSocket API."""


def http_api(routes: Mapping[str, Route], services: Callable[[], Any]) -> HttpRouter:
    """The handler of HTTP ``routes``; ``services`` builds what they use."""
    _build(services)
    return HttpRouter(routes, services, clock(), scope_prefix, request_times)


def connection_api(routes: Mapping[str, Route], services: Callable[[], Any]) -> ConnectionRouter:
    """The handler of ``$connect`` or ``$disconnect``."""
    _build(services)
    return ConnectionRouter(routes, services, clock(), scope_prefix)


def frame_api(routes: Mapping[str, Route], services: Callable[[], Any]) -> FrameRouter:
    """The handler of WebSocket actions."""
    _build(services)
    return FrameRouter(routes, services, clock(), scope_prefix, actions=ACTIONS)


def _build(services: Callable[[], Any]) -> None:
    # The first request builds again, and the router answers, logs and counts what fails then.
    with contextlib.suppress(Exception):
        services()
