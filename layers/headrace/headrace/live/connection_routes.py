"""Routes of ``$connect`` and ``$disconnect``: store and delete a WebSocket connection."""

from __future__ import annotations

from typing import Any

from headrace.api.auth import SUBPROTOCOL
from headrace.api.router import Request
from headrace.core.errors import FieldError, RateLimited
from headrace.live.connections import Connections
from headrace.live.shares import CONNECTIONS_PER_USER, RETRY_SECONDS, connections_of


def open_connection(connections: Connections, request: Request[None, None, Any]) -> dict[str, str]:
    """Store the connection; the answer's header selects the subprotocol, which browsers require.

    Raises:
        RateLimited: ``CONNECTIONS_PER_USER`` are open. Callers with events:write have no bound.
    """
    if len(connections_of(connections, request.caller)) >= CONNECTIONS_PER_USER:
        allowed = f"at most {CONNECTIONS_PER_USER} connections of one user"
        detail = FieldError("connections", "are too many", CONNECTIONS_PER_USER, allowed)
        raise RateLimited("you have too many open connections", details=[detail], retry_after=RETRY_SECONDS)
    connections.open(request.event["requestContext"]["connectionId"], request.caller)
    return {"Sec-WebSocket-Protocol": SUBPROTOCOL}


def close_connection(connections: Connections, request: Request[None, None, Any]) -> dict[str, str]:
    """Delete the connection and its subscriptions."""
    connections.close(request.event["requestContext"]["connectionId"])
    return {}
