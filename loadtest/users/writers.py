"""Locust users that send events."""

from __future__ import annotations

import random
import time
from typing import ClassVar

from headrace_client import BlockingTransport
from loadtest.client.websocket import WebSocket
from loadtest.runs.phase_run import PhaseRun
from loadtest.sending.arrivals import Arrival
from loadtest.sending.delivery import Delivery
from loadtest.sending.transports import FrameTransport, HttpTransport
from loadtest.users.stage_user import TIMEOUT, StageUser
from localstage.client.http_api import HttpApi

FRAME_TIMEOUT = 20.0
"""Seconds until a frame has no answer."""


class HttpWriter(StageUser):
    """Sends one event of the phase's stream or a batch over one connection, waits for the answer, and goes on."""

    protocol: ClassVar[str] = "HTTP"

    def connect(self, run: PhaseRun) -> None:
        """Open the connection."""
        self._sender = run.work.sender(self.place_of(run))
        self._delivery = Delivery(self._transport(run), run.work.recorder, **run.sending)

    def _transport(self, run: PhaseRun) -> BlockingTransport:
        token, answered = self._sender.token, run.requests.add
        api = HttpApi(self.target.http_url, token, timeout=TIMEOUT, connections=1, answered=answered)
        return HttpTransport(self.opened(api), run.work.request, run.work.recorder.retried)

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Send one request or frame. The latency counts through all attempts.

        Raises:
            ClientError: the stage does not accept the token any more, or no events in time.
        """
        self._delivery.wait()
        events = run.work.make(self._sender, self.place_of(run), arrival.events)
        began = time.perf_counter() if arrival.due is None else arrival.due
        if not self._delivery.send(events, began):
            run.measurements.count("incomplete requests")
        # One Locust event per request instead of per event: the client may share the CPU with the stage.
        name = run.phase.events if len(events) == 1 else f"{len(events)} {run.phase.events}"
        self.report(self.protocol, name, time.perf_counter() - began, len(events))
        if random.random() < run.phase.repeated:
            self._delivery.repeat(events)


class WebSocketWriter(HttpWriter):
    """Sends frames of chat messages over its WebSocket."""

    protocol = "WebSocket"

    def _transport(self, run: PhaseRun) -> BlockingTransport:
        websocket = self.opened(WebSocket(self.target.websocket_url, self._sender.token, timeout=FRAME_TIMEOUT))
        websocket.open_patiently()
        retried, reconnected = self.chat.checker.retried, self.chat.checker.reconnect
        return FrameTransport(websocket, retried, reconnected=reconnected, answered=run.requests.add)
