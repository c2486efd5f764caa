"""Handlers of the HTTP API and the WebSocket API: routes, with the services that their functions ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.api.router import ConnectionRouter, FrameRouter, HttpRouter, Route
from headrace.bootstrap.shared import clock, request_times, scope_prefix

ACTIONS = "sendMessage, sendBatch, subscribe, unsubscribe, history, ping"
"""All actions of the WebSocket API."""


def http_api(routes: Mapping[str, Route], services: Callable[[], Any]) -> HttpRouter:
    """The handler of HTTP ``routes``; ``services`` builds what they ask, on first use."""
    return HttpRouter(routes, services, clock(), scope_prefix, request_times)


def connection_api(routes: Mapping[str, Route], services: Callable[[], Any]) -> ConnectionRouter:
    """The handler of ``$connect`` or ``$disconnect``."""
    return ConnectionRouter(routes, services, clock(), scope_prefix)


def frame_api(routes: Mapping[str, Route], services: Callable[[], Any]) -> FrameRouter:
    """The handler of WebSocket actions."""
    return FrameRouter(routes, services, clock(), scope_prefix, ACTIONS)
