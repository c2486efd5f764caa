"""Requests of operators."""

from __future__ import annotations

from typing import Any


def operator_event(route: str, body: str | None = None, *, scope: str = "ops", request_id: str = "r") -> dict[str, Any]:
    """An HTTP API event of ``route`` from a caller with ``scope``."""
    claims = {"sub": "olga", "scope": scope, "exp": "4102444800"}
    context = {"requestId": request_id, "authorizer": {"jwt": {"claims": claims}}}
    return {"routeKey": route, "requestContext": context, "body": body}
