"""Sends events over one WebSocket with a window of unanswered frames, until each has its answer.

An answer that says "later" (it carries ``retryAfter``), a lost connection and a missing answer all lead to the same
thing: the events are sent again under the same ids. That is what makes a retry harmless, so it is what a client does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loadtest.checker.checker import Checker
from loadtest.client.chat_events import ChatEvent, batch_frame, single_frame
from loadtest.client.websocket import ConnectionLost, NoAnswer, WebSocket

ATTEMPTS = 8
LONGEST_WAIT = 5.0

Acknowledged = Callable[[Sequence[ChatEvent], float], object]
"""Told the events that one answer accepted, and when (``time.perf_counter``) they were first sent."""


@dataclass(slots=True)
class _Frame:
    request_id: str
    text: str
    events: Sequence[ChatEvent]
    first_sent: float
    attempts: int = 1


class Sender:
    """One connection's worth of sending. Not shared between threads.

    ``window`` is the greatest number of frames without an answer. ``single`` chooses ``sendMessage`` frames of one
    event; otherwise each call makes one ``sendBatch`` frame.
    """

    def __init__(
        self,
        connection: WebSocket,
        checker: Checker,
        *,
        window: int,
        single: bool,
        on_accepted: Acknowledged = lambda _events, _sent: None,
        on_answer: Callable[[int, float], object] = lambda _count, _seconds: None,
    ) -> None:
        self._connection = connection
        self._checker = checker
        self._window = window
        self._single = single
        self._on_accepted = on_accepted
        self._on_answer = on_answer
        self._pending: dict[str, _Frame] = {}
        self._requests = 0
        self._unmatched = 0

    def send(self, events: Sequence[ChatEvent]) -> None:
        """Send ``events`` in one frame; waits while the window is full.

        Raises:
            ConnectionLost: the connection could not be opened again; what is pending stays unanswered.
        """
        for event in events:
            self._checker.attempt(event)
        frame = self._frame(events, time.perf_counter())
        self._transmit(frame)
        while len(self._pending) >= self._window:
            self._take_answer()

    def finish(self) -> None:
        """Wait until every frame is answered or given up.

        Raises:
            ConnectionLost: as for :meth:`send`.
        """
        while self._pending:
            self._take_answer()

    def _frame(self, events: Sequence[ChatEvent], first_sent: float, attempts: int = 1) -> _Frame:
        self._requests += 1
        request_id = f"r{self._requests}"
        text = single_frame(events[0], request_id) if self._single else batch_frame(events, request_id)
        return _Frame(request_id, text, events, first_sent, attempts)

    def _transmit(self, frame: _Frame) -> None:
        self._pending[frame.request_id] = frame
        try:
            self._connection.send(frame.text)
        except ConnectionLost:
            self._reconnect()

    def _take_answer(self) -> None:
        try:
            answer = self._connection.receive()
        except (NoAnswer, ConnectionLost):
            self._reconnect()
            return
        frame = self._pending.pop(str(answer.get("requestId")), None)
        if frame is None:
            self._count_unmatched(answer)
        else:
            self._take_matched(frame, answer)
        # As many answers without an id as frames without an answer: these frames are the ones that failed.
        if self._unmatched and self._unmatched >= len(self._pending):
            time.sleep(0.1)
            self._send_again()

    def _take_matched(self, frame: _Frame, answer: dict[str, Any]) -> None:
        self._on_answer(len(frame.events), time.perf_counter() - frame.first_sent)
        if answer.get("type") == "acks":
            self._settle(frame, answer.get("results") or [])
        else:
            self._settle(frame, [answer] * len(frame.events))

    def _settle(self, frame: _Frame, results: Sequence[dict[str, Any]]) -> None:
        if len(results) != len(frame.events):
            results = [{"error": {"code": "wrong_count"}}] * len(frame.events)
        seconds = time.perf_counter() - frame.first_sent
        accepted: list[ChatEvent] = []
        later: list[ChatEvent] = []
        wait = 0.0
        for event, result in zip(frame.events, results, strict=True):
            error = result.get("error")
            if error is None and result.get("messageId") == event.message_id:
                if result.get("timestamp") != event.timestamp:
                    self._checker.refuse(event, "wrong_timestamp")
                    continue
                self._checker.acknowledge(event, seconds, str(result.get("lane")))
                accepted.append(event)
            elif error is not None and "retryAfter" in error and frame.attempts < ATTEMPTS:
                later.append(event)
                wait = max(wait, float(error["retryAfter"] or 0))
            else:
                self._checker.refuse(event, str(error.get("code", "error")) if error else "wrong_answer")
        if accepted:
            self._on_accepted(accepted, frame.first_sent)
        if later:
            time.sleep(min(wait or 0.1, LONGEST_WAIT))
            self._transmit(self._frame(later, frame.first_sent, frame.attempts + 1))

    def _count_unmatched(self, answer: dict[str, Any]) -> None:
        """API Gateway's own errors carry no id of ours; a second answer to a settled frame is no news."""
        kind = answer.get("type")
        if kind is None or (kind == "error" and "requestId" not in answer):
            self._unmatched += 1
            self._checker.errors["unmatched"] += 1

    def _send_again(self) -> None:
        try:
            self._resend()
        except ConnectionLost:
            self._reconnect()

    def _reconnect(self) -> None:
        """Open the connection again and send everything that has no answer, under the same ids."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._connection.open()
                self._resend()
                return
            except ConnectionLost:
                if attempt == ATTEMPTS:
                    raise
                time.sleep(min(0.05 * 2**attempt, LONGEST_WAIT))

    def _resend(self) -> None:
        self._unmatched = 0
        for frame in list(self._pending.values()):
            frame.attempts += 1
            if frame.attempts > ATTEMPTS:
                del self._pending[frame.request_id]
                self._checker.errors["no_answer"] += len(frame.events)
                continue
            self._connection.send(frame.text)
