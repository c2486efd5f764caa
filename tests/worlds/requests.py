"""The context and the events of a function's requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from headrace.api.router import Request, Route
from headrace.core.caller import Caller
from headrace.runtime.observability import Meter


class Context:
    """Lambda's context of an invocation with ``seconds`` left."""

    def __init__(self, seconds: float = 1000) -> None:
        self._seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return round(self._seconds * 1000)


def http_event(
    route: str,
    body: object = None,
    *,
    user: str = "alice",
    scope: str = "chat:write",
    path: Mapping[str, str] | None = None,
    query: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The event of an HTTP request of ``user`` with ``scope``. ``body`` is sent as JSON, and a text as it is."""
    claims = {"sub": user, "username": user.title(), "scope": scope, "exp": "4102444800"}
    return {
        "routeKey": route,
        "requestContext": {"requestId": "r-1", "authorizer": {"jwt": {"claims": claims}}},
        "pathParameters": path,
        "queryStringParameters": query,
        "body": body if body is None or isinstance(body, str) else json.dumps(body),
        "isBase64Encoded": False,
    }


def request_of(
    caller: Caller, now: int, path: Any = None, query: Any = None, body: Any = None
) -> Request[Any, Any, Any]:
    """A request as the router gives it to a route's function."""
    return Request({}, Context(), caller, now, "r", Meter(), path, query, body)


def key_of(routes: Mapping[str, Route], function: Callable[..., Any]) -> str:
    """The key of the route that ``function`` answers."""
    return next(key for key, route in routes.items() if route.function is function)
