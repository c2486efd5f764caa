"""Which events are sent again; the same rule for HTTP and WebSocket."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from loadtest.client.websocket import ConnectionLost, WebSocket
from localstage.client.retry import backoff

ATTEMPTS = 8
"""Requests or frames in which an event is sent before the sender gives up."""
RECONNECTIONS = 20
"""Attempts of a load run to reach a stage again, for about 40 s: one that restarts is back by then."""


def is_temporary(result: Mapping[str, Any]) -> bool:
    """True when the platform may accept the event later: the error of ``result`` has a ``retryAfter``."""
    error = result.get("error")
    return error is not None and "retryAfter" in error


def open_patiently(connection: WebSocket, pause: Callable[[float], object] = time.sleep) -> None:
    """Open ``connection``; again after a pause while the stage does not take it, such as when many open at once.

    Raises:
        ConnectionRefused: the token is rejected.
        ConnectionLost: all attempts failed.
    """
    for attempt in range(1, RECONNECTIONS + 1):
        try:
            connection.open()
            return
        except ConnectionLost:
            if attempt == RECONNECTIONS:
                raise
            pause(backoff(attempt))
