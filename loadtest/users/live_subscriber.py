"""A Locust user that follows a room live."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from loadtest.client.chat_events import parse_iso
from loadtest.client.websocket import ConnectionLost, NoAnswer
from loadtest.runs.phase_run import PhaseRun
from loadtest.sending.arrivals import Arrival
from loadtest.users.stage_user import StageUser

AGAIN_AFTER = 1.0
"""Seconds until a subscription that was refused is tried again, and until a live subscriber looks whether to stop."""
SUBSCRIBED_WITHIN = 15.0
"""Seconds after its first message within which a room must have its subscribers."""
LAST_WITHIN = 10.0
"""Seconds in which the last live messages may come after the end of a phase."""


class LiveSubscriber(StageUser):
    """Follows a room, and measures the time from a message's timestamp until it is pushed.

    It counts the messages that were sent after it subscribed and never came: the platform may leave some out, and a
    client then reads the history. A subscriber to which none came is a failure.
    """

    _followed_in: PhaseRun | None = None

    def connect(self, run: PhaseRun) -> None:
        """Open the WebSocket, and subscribe to the room before the first message is sent."""
        user = f"load-{self.kind}-{self.number}"
        self._room = self.chat.rooms[self.number % len(self.chat.rooms)]
        self._websocket = self.opened(self.target.websocket(user, "chat:read", timeout=AGAIN_AFTER))
        self._websocket.open_patiently()
        self._followed_in, self._subscribed, self._since, self._received = run, False, 0.0, set[str]()
        with suppress(NoAnswer):  # tried again when the user acts
            self._subscribe()

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Subscribe if necessary, or receive one frame."""
        try:
            if not self._websocket.connected:
                self._websocket.open()
                run.measurements.count("subscriber reconnections")
                self._subscribed = False
            if not self._subscribed:
                self._subscribe()
            else:
                self._take(run, self._websocket.receive())
        except NoAnswer:
            return
        except ConnectionLost:
            time.sleep(AGAIN_AFTER)

    def _subscribe(self) -> None:
        answer = self._websocket.request({"action": "subscribe", "requestId": "s", "roomId": self._room})
        self._subscribed, self._since = answer.get("type") == "subscribed", time.perf_counter()
        if not self._subscribed:
            time.sleep(AGAIN_AFTER)

    def _take(self, run: PhaseRun, frame: dict[str, Any]) -> None:
        if frame.get("type") != "messages":
            return
        now = datetime.now(UTC)
        for item in frame["items"]:
            seconds = (now - parse_iso(item["timestamp"])).total_seconds()
            run.measurements.record("live", max(0.0, seconds))
            run.measurements.count("live messages")
            self._received.add(item["messageId"])
        self.report("WebSocket", "live messages", max(0.0, seconds), len(frame["items"]))

    def _missing(self) -> set[str]:
        """The messages that were sent since the subscription and did not come."""
        if not self._subscribed:
            return set()
        return self.chat.sent_between(self._room, self._since, time.perf_counter()) - self._received

    def disconnect(self) -> None:
        """Wait for the last messages, count those that did not come, and close the WebSocket."""
        run, self._followed_in = self._followed_in, None
        if run is not None:
            end = time.perf_counter() + LAST_WITHIN
            while self._missing() and time.perf_counter() < end:
                with suppress(NoAnswer, ConnectionLost):
                    self._take(run, self._websocket.receive())
            run.measurements.count("live messages missing", len(missing := self._missing()))
            if missing and not self._received:
                run.measurements.count("failed subscribers: nothing was pushed")
            early = time.perf_counter() - SUBSCRIBED_WITHIN
            if not self._subscribed and self.chat.sent_between(self._room, 0.0, early):
                run.measurements.count("failed subscribers: not subscribed")
        super().disconnect()
