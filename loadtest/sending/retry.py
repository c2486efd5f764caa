"""Which events are sent again; the same rule for HTTP and WebSocket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ATTEMPTS = 8
"""Requests or frames in which an event is sent before the sender gives up."""
RECONNECTIONS = 20
"""Attempts to open a lost connection again, for about 40 s: a stage that restarts is back by then."""


def is_temporary(result: Mapping[str, Any]) -> bool:
    """True when the platform may accept the event later: the error of ``result`` has a ``retryAfter``."""
    error = result.get("error")
    return error is not None and "retryAfter" in error
