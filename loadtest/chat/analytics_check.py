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
from localstage.client.errors import HttpError
from localstage.client.http_api import HttpApi

PATIENCE = 120.0
"""Seconds until everything must be counted. What was stored in the last 10 s may be missing, and a first answer about
many messages takes time."""
MOST_ROOMS, TOP = 10_000, 100
Pause = Callable[[float], object]


class AnalyticsCheck:
    """Asks ``api``, which has the scope analytics:read, about the messages from ``began`` (epoch seconds) until now."""

    def __init__(self, api: HttpApi, began: float, *, patience: float = PATIENCE, pause: Pause = time.sleep) -> None:
        begin, end = datetime.fromtimestamp(began - 1, UTC), datetime.now(UTC) + timedelta(seconds=2)
        self.findings = Findings()
        self._api = api
        self._window = {"from": iso(begin), "to": iso(end)}
        self._deadline = time.monotonic() + patience
        self._pause = pause

    def check_rooms(self, expected: Mapping[str, int]) -> None:
        """Compare the number of messages of each room. Other rooms may be written at the same time."""
        found = self._settled(partial(self._rooms, expected), dict(expected))
        if not isinstance(found, dict):
            self.findings.check("messages of rooms", "", found, expected)
            return
        for room, count in expected.items():
            self.findings.check("messages of a room", room, found.get(room, 0), count)

    def check_room(self, room: str, sent: Counter[str]) -> None:
        """Compare the numbers of one room with ``sent``, its messages by user."""
        ranked = sorted(sent.items(), key=lambda item: (-item[1], item[0]))[:TOP]
        expected = (sent.total(), len(sent), ranked)
        self.findings.check("totals of a room", room, self._settled(partial(self._room, room), expected), expected)
        active = self._settled(partial(self._active, room), len(sent))
        self.findings.check("active users of a room", room, active, len(sent))

    def _settled(self, ask: Callable[[], Any], expected: Any) -> Any:
        def answer() -> Any:
            try:
                return ask()
            except HttpError as error:
                if not error.retryable:
                    raise
                return str(error)

        return settled(answer, expected, self._deadline - time.monotonic(), self._pause)

    def _get(self, path: str, **query: str) -> dict[str, Any]:
        return self._api.get(f"/analytics/{path}", {**self._window, **query})

    def _rooms(self, expected: Mapping[str, int]) -> dict[str, int]:
        listed = self._get("window", top=str(MOST_ROOMS))["topRooms"]
        return {each["roomId"]: each["messages"] for each in listed if each["roomId"] in expected}

    def _room(self, room: str) -> tuple[int, int, list[tuple[str, int]]]:
        found = self._get("window", roomId=room, top=str(TOP))
        ranked = [(each["userId"], each["messages"]) for each in found["topUsers"]]
        return found["totalMessages"], found["uniqueUsers"], ranked

    def _active(self, room: str) -> int:
        return int(self._get("active-users", roomId=room)["uniqueUsers"])
