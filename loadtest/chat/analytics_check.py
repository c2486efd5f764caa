"""Compares what the analytics count with the messages of a run."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from loadtest.checker.findings import Findings, settled
from loadtest.client.chat_events import iso
from localstage.client.http_api import HttpApi

PATIENCE = 120.0
"""Seconds until everything must be counted: what was stored in the last 10 s may be missing."""
TOP = 100


class AnalyticsCheck:
    """Asks ``api``, which has the scope analytics:read, about the messages from ``began`` (epoch seconds) until now."""

    def __init__(self, api: HttpApi, began: float, *, patience: float = PATIENCE) -> None:
        begin, end = datetime.fromtimestamp(began - 1, UTC), datetime.now(UTC) + timedelta(seconds=2)
        self.findings = Findings()
        self._api = api
        self._window = {"from": iso(begin), "to": iso(end)}
        self._deadline = time.monotonic() + patience

    def check_rooms(self, expected: Mapping[str, int]) -> None:
        """Compare the number of messages of each room.

        Raises:
            HttpError: the analytics do not answer.
        """
        for room, count in expected.items():
            found = self._settled(partial(self._total, room), count)
            self.findings.check("messages of a room", room, found, count)

    def check_room(self, room: str, sent: Counter[str]) -> None:
        """Compare the numbers of one room with ``sent``, its messages by user.

        Raises:
            HttpError: the analytics do not answer.
        """
        ranked = sorted(sent.items(), key=lambda item: (-item[1], item[0]))[:TOP]
        expected = (sent.total(), len(sent), ranked)
        self.findings.check("totals of a room", room, self._settled(partial(self._room, room), expected), expected)
        active = self._settled(partial(self._active, room), len(sent))
        self.findings.check("active users of a room", room, active, len(sent))

    def _settled(self, ask: Callable[[], Any], expected: Any) -> Any:
        return settled(ask, expected, self._deadline - time.monotonic())

    def _get(self, path: str, **query: str) -> dict[str, Any]:
        return self._api.get(f"/analytics/{path}", {**self._window, **query})

    def _total(self, room: str) -> int:
        return int(self._get("window", roomId=room, top="1")["totalMessages"])

    def _room(self, room: str) -> tuple[int, int, list[tuple[str, int]]]:
        found = self._get("window", roomId=room, top=str(TOP))
        ranked = [(each["userId"], each["messages"]) for each in found["topUsers"]]
        return found["totalMessages"], found["uniqueUsers"], ranked

    def _active(self, room: str) -> int:
        return int(self._get("active-users", roomId=room)["uniqueUsers"])
