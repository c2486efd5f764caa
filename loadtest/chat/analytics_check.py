"""Compares what the analytics count with the messages of a run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from loadtest.checker.findings import Findings, settled
from loadtest.client.chat_events import iso
from localstage.client.http_api import HttpApi

PATIENCE = 120.0
"""Seconds until everything must be counted: what was stored in the last 10 s may be missing."""
TOP = 100


def check_analytics(
    api: HttpApi, findings: Findings, began: float, rooms: Mapping[str, int], said: Mapping[str, Counter[str]]
) -> None:
    """Ask ``api``, which has the scope analytics:read, about the messages from ``began`` (epoch seconds) until now.

    ``rooms`` are the numbers of messages by room, and ``said`` those of some rooms by user.

    Raises:
        HttpError: the analytics do not answer.
    """
    begin, end = datetime.fromtimestamp(began - 1, UTC), datetime.now(UTC) + timedelta(seconds=2)
    window, deadline = {"from": iso(begin), "to": iso(end)}, time.monotonic() + PATIENCE

    def check(
        query: str, room: str, expected: Any, path: str, read: Callable[[dict[str, Any]], Any], **of: str
    ) -> None:
        def ask() -> Any:
            return read(api.get(f"/analytics/{path}", {**window, "roomId": room, **of}))

        findings.check(query, room, settled(ask, expected, deadline - time.monotonic()), expected)

    for room, count in rooms.items():
        check("messages of a room", room, count, "window", lambda found: found["totalMessages"], top="1")
    for room, sent in said.items():
        ranked = sorted(sent.items(), key=lambda item: (-item[1], item[0]))[:TOP]
        check("totals of a room", room, (sent.total(), len(sent), ranked), "window", _totals, top=str(TOP))
        check("active users of a room", room, len(sent), "active-users", lambda found: found["uniqueUsers"])


def _totals(found: dict[str, Any]) -> tuple[int, int, list[tuple[str, int]]]:
    ranked = [(each["userId"], each["messages"]) for each in found["topUsers"]]
    return found["totalMessages"], found["uniqueUsers"], ranked
