"""Sends the streams of a replay, several at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from loadtest.chat.replay_plan import Plan, ReplayStream
from loadtest.checker.checker import Checker
from loadtest.checker.durability_probe import DurabilityProbe
from loadtest.client.chat_events import ChatEvent
from loadtest.client.target import Target
from loadtest.measured.histogram import Histogram
from loadtest.sending.delivery import CheckedEvents, Delivery
from loadtest.sending.threads import in_threads
from loadtest.sending.transports import FrameTransport
from localstage.client.errors import ClientError


@dataclass
class ReplaySender:
    """Sends ``plan`` to ``target``; ``advance`` is called with the number of events of each answer.

    ``problems`` has a sentence for each stream that was not sent completely.
    """

    plan: Plan
    target: Target
    checker: Checker
    probe: DurabilityProbe
    acks: Histogram
    advance: Callable[[int], object]
    problems: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> float:
        """Send everything and return the seconds from the first frame to the last answer."""
        for event in self.plan.permitted:
            self.checker.permit(event)
        started = time.perf_counter()
        in_threads(self._send, self.plan.streams, self.plan.connections)
        return time.perf_counter() - started

    def _accepted(self, events: Sequence[ChatEvent], first_sent: float) -> None:
        with self._lock:
            self.acks.record(time.perf_counter() - first_sent, len(events))
        self.probe.offer(events, first_sent)

    def _send(self, stream: ReplayStream) -> None:
        connection = self.target.websocket(stream.user, *stream.scopes)
        recorder = CheckedEvents(self.checker, self._accepted)
        reconnected = self.checker.reconnect
        transport = FrameTransport(connection, recorder.retried, single=stream.single, reconnected=reconnected)
        delivery = Delivery(transport, recorder)
        recorder.attempted(stream.events)
        try:
            for events in stream.parts():
                delivery.send(events)
                self.advance(len(events))
        except ClientError as error:
            self.problems.append(f"{stream.user}: {error}")
        finally:
            connection.close()
