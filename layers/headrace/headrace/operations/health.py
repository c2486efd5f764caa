"""``GET /health``: whether events are accepted and history can be read, and the state of each part, within a second.

Accepting events needs the broker or the retry lane. Reading needs the table; without the cache it is slower.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from typing_extensions import TypedDict

from headrace.api.router import Reply, Request

CHECK_SECONDS = 1.0
KEPT_SECONDS = 5.0
"""How long an answer is repeated: the route needs no token, and must not load the parts."""


class HealthBody(TypedDict):
    """Whether events are accepted and history can be read; each of ``parts`` is ``ok`` or ``unreachable``."""

    status: str
    accepting: bool
    reading: bool
    parts: dict[str, str]


class Health:
    """Checks all parts in parallel; one that raises, or takes longer than ``CHECK_SECONDS``, is ``unreachable``.

    ``checks`` are those of the parts ``broker``, ``retryLane``, ``table`` and ``cache``.
    """

    def __init__(
        self, checks: Mapping[str, Callable[[], object]], monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._checks = checks
        self._monotonic = monotonic
        self._pool = ThreadPoolExecutor(max_workers=len(checks), thread_name_prefix="health")
        self._kept: tuple[float, HealthBody] | None = None

    def answer(self) -> tuple[int, HealthBody]:
        """The HTTP status and the body, at most ``KEPT_SECONDS`` old."""
        now = self._monotonic()
        if self._kept is None or now - self._kept[0] > KEPT_SECONDS:
            self._kept = (now, self._check())
        body = self._kept[1]
        return (200 if body["accepting"] and body["reading"] else 503), body

    def _check(self) -> HealthBody:
        pending = {name: self._pool.submit(check) for name, check in self._checks.items()}
        deadline = self._monotonic() + CHECK_SECONDS
        parts: dict[str, str] = {}
        for name, future in pending.items():
            try:
                future.result(timeout=max(0.0, deadline - self._monotonic()))
                parts[name] = "ok"
            except Exception:  # noqa: BLE001 - the answer shows the state of the part
                parts[name] = "unreachable"
        accepting = "ok" in (parts["broker"], parts["retryLane"])
        reading = parts["table"] == "ok"
        well = "ok" if set(parts.values()) == {"ok"} else "degraded"
        status = well if accepting and reading else "down"
        return {"status": status, "accepting": accepting, "reading": reading, "parts": parts}


def check_health(health: Health, _request: Request[None, None, None]) -> Reply:
    """Answer 200 while events are accepted and history can be read, else 503."""
    return Reply(*health.answer())


def any_port_open(urls: tuple[str, ...], seconds: float = CHECK_SECONDS / 2) -> None:
    """Check that one of the broker's ``urls`` accepts a TCP connection.

    Raises:
        OSError: none does within ``seconds``.
    """
    for url in urls:
        parts = urlsplit(url)
        port = parts.port or (5671 if parts.scheme == "amqps" else 5672)
        with contextlib.suppress(OSError):
            socket.create_connection((str(parts.hostname), port), timeout=seconds / len(urls)).close()
            return
    raise OSError("no broker accepts a connection")
