"""``GET /health``: whether events are accepted and history can be read, and the state of each part, within a second.

Accepting events needs the broker or the retry lane. Reading needs the table; without the cache it is slower.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from urllib.parse import urlsplit

from typing_extensions import TypedDict

from headrace.api.router import Reply, Request
from headrace.health.parts import Parts, Unknown

CHECK_SECONDS = 1.0
KEPT_SECONDS = 5.0
"""How long an answer is repeated: the route needs no token, and must not load the parts."""
PARTS = ("broker", "retryLane", "table", "cache")


class HealthBody(TypedDict):
    """Whether events are accepted and history can be read; each of ``parts`` is ``ok`` or ``unreachable``."""

    status: str
    accepting: bool
    reading: bool
    parts: dict[str, str]


def check_health(parts: Parts, _request: Request[None, None, None]) -> Reply:
    """Answer 200 while events are accepted and history can be read, else 503.

    ``parts`` are ``broker``, ``retryLane``, ``table`` and ``cache``.
    """
    _, found = parts.read()
    states = {name: "unreachable" if isinstance(found[name], Unknown) else "ok" for name in PARTS}
    accepting = "ok" in (states["broker"], states["retryLane"])
    reading = states["table"] == "ok"
    well = "ok" if set(states.values()) == {"ok"} else "degraded"
    status = well if accepting and reading else "down"
    body: HealthBody = {"status": status, "accepting": accepting, "reading": reading, "parts": states}
    return Reply(200 if accepting and reading else 503, body)


def any_port_open(urls: Sequence[str]) -> None:
    """Check that one of the brokers' ``urls`` accepts a TCP connection.

    Raises:
        OSError: none does within half a second.
    """
    for url in urls:
        parts = urlsplit(url)
        port = parts.port or (5671 if parts.scheme == "amqps" else 5672)
        with contextlib.suppress(OSError):
            socket.create_connection((str(parts.hostname), port), timeout=CHECK_SECONDS / 2 / len(urls)).close()
            return
    raise OSError("no broker accepts a connection")
