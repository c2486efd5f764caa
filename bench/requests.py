"""Requests to a route's whole function, as API Gateway sends them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]
CONTEXT = SimpleNamespace(get_remaining_time_in_millis=lambda: 100_000_000)
"""The context of an invocation with enough time left."""


def http_event(
    route: str, scope: str, query: Mapping[str, str] | None = None, path: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The event of a request with a token that does not expire here."""
    claims = {"sub": "alice", "username": "Alice", "scope": scope, "exp": "4102444800"}
    return {
        "routeKey": route,
        "requestContext": {"requestId": "r-1", "authorizer": {"jwt": {"claims": claims}}},
        "pathParameters": dict(path or {}),
        "queryStringParameters": dict(query) if query else None,
    }


def answer_of(handler: Handler, event: dict[str, Any]) -> dict[str, Any]:
    """The body of the answer. One with another status than 200 ends the benchmark."""
    answer = handler(event, CONTEXT)
    if answer["statusCode"] != 200:
        raise SystemExit(answer["body"])
    body: dict[str, Any] = json.loads(answer["body"])
    return body
