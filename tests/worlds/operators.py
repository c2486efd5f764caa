"""Requests of operators."""

from __future__ import annotations

from typing import Any


def operator_event(
    route: str, body: str | None = None, *, scope: str = "ops", user: str = "olga", request_id: str = "r"
) -> dict[str, Any]:
    """An HTTP API event of ``route`` from a caller with ``scope``."""
    claims = {"sub": user, "scope": scope, "exp": "4102444800"}
    context = {"requestId": request_id, "authorizer": {"jwt": {"claims": claims}}}
    return {"routeKey": route, "requestContext": context, "body": body}
