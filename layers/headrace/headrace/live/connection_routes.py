"""Routes of ``$connect`` and ``$disconnect``: store and delete a WebSocket connection."""

from __future__ import annotations

from typing import Any

from headrace.api.auth import SUBPROTOCOL
from headrace.api.router import Request
from headrace.live.connections import Connections
from headrace.live.shares import check_open


def open_connection(connections: Connections, request: Request[None, None, Any]) -> dict[str, str]:
    """Store the connection; the answer's header selects the subprotocol, which browsers require.

    Raises:
        RateLimited: the user has too many open connections.
    """
    check_open(connections, request.caller)
    connections.open(request.event["requestContext"]["connectionId"], request.caller)
    return {"Sec-WebSocket-Protocol": SUBPROTOCOL}


def close_connection(connections: Connections, request: Request[None, None, Any]) -> dict[str, str]:
    """Delete the connection and its subscriptions."""
    connections.close(request.event["requestContext"]["connectionId"])
    return {}
