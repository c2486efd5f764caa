"""Locust users that send messages."""

from __future__ import annotations

import time

from loadtest.client.chat_events import post_messages
from loadtest.client.websocket import WebSocket
from loadtest.runs.chat_work import ChatWork
from loadtest.runs.phase_run import PhaseRun
from loadtest.sending.arrivals import Arrival
from loadtest.sending.delivery import Delivery
from loadtest.sending.transports import FrameTransport
from loadtest.users.posting import Posting
from loadtest.users.stage_user import StageUser

FRAME_TIMEOUT = 20.0
"""Seconds until a frame has no answer."""


def chat_of(run: PhaseRun) -> ChatWork:
    """The chat work of ``run``."""
    assert isinstance(run.work, ChatWork)  # noqa: S101 - the catalog gives chat users chat phases only
    return run.work


class WebSocketWriter(StageUser):
    """Sends a frame over its WebSocket, waits for the answer, and sends the next one."""

    _websocket: WebSocket | None = None

    def connect(self, run: PhaseRun) -> None:
        """Open the WebSocket."""
        work, batch = chat_of(run), next(each.batch for each in run.phase.loads if each.kind == self.kind)
        self._from = self.sender(run)
        self._websocket = WebSocket(self.target.websocket_url, self._from.token, timeout=FRAME_TIMEOUT)
        self._websocket.open_patiently()
        reconnected = work.checker.reconnect
        transport = FrameTransport(self._websocket, work.retried, single=batch == 1, reconnected=reconnected)
        self._delivery = Delivery(transport, work)

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Send one frame."""
        began = time.perf_counter() if arrival.due is None else arrival.due
        self._delivery.send(chat_of(run).messages(self._from, self.place_of(run), arrival.events), began)
        # One Locust event per frame instead of per message: the client may share the CPU with the stage.
        name = "sendMessage" if arrival.events == 1 else f"sendBatch of {arrival.events}"
        self.report("WebSocket", name, time.perf_counter() - began, arrival.events)

    def disconnect(self) -> None:
        """Close the WebSocket."""
        if self._websocket is not None:
            self._websocket.close()
            self._websocket = None


class HttpWriter(Posting):
    """Posts messages, one or a batch at a time."""

    posts = "messages"

    def connect(self, run: PhaseRun) -> None:
        """Get a token."""
        self._from = self.sender(run)
        self.open(self._from.token, post_messages, chat_of(run))

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Post one message or one batch."""
        self.post(run, chat_of(run).messages(self._from, self.place_of(run), arrival.events), arrival.due)
