"""Locust users that read messages, conversations and analytics of chat."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from loadtest.client.chat_events import parse_iso
from loadtest.client.websocket import ConnectionLost, NoAnswer, WebSocket
from loadtest.runs.phase_run import PhaseRun
from loadtest.sending.arrivals import Arrival
from loadtest.users.chat_writers import chat_of
from loadtest.users.stage_user import Asking, StageUser, last_minutes
from localstage.client.errors import HttpError
from localstage.client.http_api import HttpApi

FOLLOWED = 3
"""How many rooms a reader of conversations joins."""
AGAIN_AFTER = 1.0
"""Seconds until a room that does not exist yet is tried again, and until a live subscriber looks whether to stop."""
SUBSCRIBED_WITHIN = 15.0
"""Seconds after its first message within which a room must have its subscribers."""
LAST_WITHIN = 10.0
"""Seconds in which the last live messages may come after the end of a phase."""


class RoomHistoryReader(Asking):
    """Reads the newest page of a room."""

    scope = "chat:read"
    question = "room history"

    def ask(self, api: HttpApi, run: PhaseRun) -> None:
        """Read a page of 50."""
        api.room_page(chat_of(run).room(), limit=50)


class UserHistoryReader(Asking):
    """Reads the newest page of a user who sent lately."""

    scope = "chat:read"
    question = "user history"

    def ask(self, api: HttpApi, run: PhaseRun) -> None:
        """Read a page of 50."""
        api.get(f"/users/{quote(chat_of(run).person(), safe='')}/messages", {"limit": "50"})


class ConversationsReader(Asking):
    """Joins a few rooms when they exist, and lists its conversations."""

    scope = "chat:read"
    question = "conversations"

    def connect(self, run: PhaseRun) -> None:
        """Get a token for asking and one for joining."""
        super().connect(run)
        user = f"load-{self.kind}-{self.number}"
        self._user = self.target.user_id(user, self.scope)
        self._joining = self.target.joiner(user)
        self._joined: set[str] = set()

    def ask(self, api: HttpApi, run: PhaseRun) -> None:
        """List the conversations."""
        api.get(f"/users/{quote(self._user, safe='')}/rooms", {"limit": "20"})

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Join a room before each of the first questions."""
        if len(self._joined) < FOLLOWED:
            chat_of(run).joined.add(self._user)
            self._join(chat_of(run).room())
        super().act(run, arrival)

    def _join(self, room: str) -> None:
        try:
            self._joining.put(f"/rooms/{quote(room, safe='')}/members/{quote(self._user, safe='')}", {})
            self._joined.add(room)
        except HttpError as error:
            if error.status != 404:
                raise

    def disconnect(self) -> None:
        """Close the connections."""
        super().disconnect()
        if hasattr(self, "_joining"):
            self._joining.close()


class ActiveUsersReader(Asking):
    """Asks how many users were active in the last minutes."""

    question = "active users"

    def ask(self, api: HttpApi, run: PhaseRun) -> None:
        """Ask for the last ten minutes."""
        api.get("/analytics/active-users", last_minutes())


class WindowReader(Asking):
    """Asks for totals, rates and top lists of the last minutes."""

    question = "window"

    def ask(self, api: HttpApi, run: PhaseRun) -> None:
        """Ask for the last ten minutes."""
        api.get("/analytics/window", last_minutes() | {"top": "10"})


class LiveSubscriber(StageUser):
    """Follows a room, and measures the time from a message's timestamp until it is pushed.

    It counts the messages that were sent after it subscribed and never came: the platform may leave some out, and a
    client then reads the history. A subscriber to which none came is a failure.
    """

    _websocket: WebSocket | None = None
    _followed_in: PhaseRun | None = None

    def connect(self, run: PhaseRun) -> None:
        """Open the WebSocket. The room is subscribed to when it exists."""
        user = f"load-{self.kind}-{self.number}"
        self._room = chat_of(run).rooms[self.number % len(chat_of(run).rooms)]
        self._websocket = self.target.websocket(user, "chat:read", timeout=AGAIN_AFTER)
        self._websocket.open_patiently()
        self._followed_in, self._subscribed, self._since = run, False, 0.0
        self._received: set[str] = set()

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Subscribe if necessary, or receive one frame."""
        assert self._websocket is not None  # noqa: S101 - for mypy: connect() was called
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
        assert self._websocket is not None  # noqa: S101 - for mypy: connect() was called
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

    def _missing(self, run: PhaseRun) -> set[str]:
        """The messages that were sent since the subscription and did not come."""
        if not self._subscribed:
            return set()
        return chat_of(run).sent_between(self._room, self._since, time.perf_counter()) - self._received

    def disconnect(self) -> None:
        """Wait for the last messages, count those that did not come, and close the WebSocket."""
        run, self._followed_in = self._followed_in, None
        if run is not None and self._websocket is not None:
            end = time.perf_counter() + LAST_WITHIN
            while self._missing(run) and time.perf_counter() < end:
                with suppress(NoAnswer, ConnectionLost):
                    self._take(run, self._websocket.receive())
            missing = self._missing(run)
            run.measurements.count("live messages missing", len(missing))
            if missing and not self._received:
                run.measurements.count("failed subscribers: nothing was pushed")
            early = time.perf_counter() - SUBSCRIBED_WITHIN
            if not self._subscribed and chat_of(run).sent_between(self._room, 0.0, early):
                run.measurements.count("failed subscribers: not subscribed")
        if self._websocket is not None:
            self._websocket.close()
            self._websocket = None
