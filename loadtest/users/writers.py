"""Locust users that send events."""

from __future__ import annotations

import random
import time

from loadtest.client.websocket import WebSocket
from loadtest.runs.phase_run import PhaseRun
from loadtest.sending.arrivals import Arrival
from loadtest.sending.delivery import Delivery
from loadtest.sending.transports import FrameTransport, HttpTransport
from loadtest.users.stage_user import TIMEOUT, StageUser
from localstage.client.http_api import HttpApi

FRAME_TIMEOUT = 20.0
"""Seconds until a frame has no answer."""


class WebSocketWriter(StageUser):
    """Sends a frame of chat messages over its WebSocket, waits for the answer, and sends the next one."""

    def connect(self, run: PhaseRun) -> None:
        """Open the WebSocket."""
        work = self.chat
        self._sender = work.sender(self.place_of(run))
        websocket = self.opened(WebSocket(self.target.websocket_url, self._sender.token, timeout=FRAME_TIMEOUT))
        websocket.open_patiently()
        retried, reconnected = work.checker.retried, work.checker.reconnect
        transport = FrameTransport(websocket, retried, reconnected=reconnected, answered=run.requests.add)
        self._delivery = Delivery(transport, work.checker, **run.sending)

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Send one frame."""
        self._delivery.wait()
        began = time.perf_counter() if arrival.due is None else arrival.due
        self._delivery.send(self.chat.make(self._sender, self.place_of(run), arrival.events), began)
        # One Locust event per frame instead of per message: the client may share the CPU with the stage.
        name = "sendMessage" if arrival.events == 1 else f"sendBatch of {arrival.events}"
        self.report("WebSocket", name, time.perf_counter() - began, arrival.events)


class HttpWriter(StageUser):
    """Posts one event of the phase's stream or a batch at a time, over one connection."""

    def connect(self, run: PhaseRun) -> None:
        """Get a token."""
        self._sender = run.work.sender(self.place_of(run))
        api = HttpApi(
            self.target.http_url, self._sender.token, timeout=TIMEOUT, connections=1, answered=run.requests.add
        )
        recorder = run.work.recorder
        transport = HttpTransport(self.opened(api), run.work.request, recorder.retried)
        self._delivery = Delivery(transport, recorder, **run.sending)

    def act(self, run: PhaseRun, arrival: Arrival) -> None:
        """Post one event or one batch. The latency counts through all attempts.

        Raises:
            ClientError: the stage does not accept the token any more, or no events in time.
        """
        self._delivery.wait()
        events = run.work.make(self._sender, self.place_of(run), arrival.events)
        began = time.perf_counter() if arrival.due is None else arrival.due
        if not self._delivery.send(events, began):
            run.measurements.count("incomplete requests")
        name = f"POST {run.phase.events}" if len(events) == 1 else f"POST {len(events)} {run.phase.events}"
        self.report("HTTP", name, time.perf_counter() - began, len(events))
        if random.random() < run.phase.repeated:
            self._delivery.repeat(events)
