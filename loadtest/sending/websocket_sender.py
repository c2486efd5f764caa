"""Sends chat events over one WebSocket, with a window of unanswered frames, until each is accepted or refused.

After a temporary error (it has a ``retryAfter``), an expired token, a lost connection or a missing answer the events
are sent again under the same ids, so a retry never stores an event twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loadtest.checker.checker import Checker
from loadtest.client.chat_events import ChatEvent, batch_frame, single_frame
from loadtest.client.websocket import ConnectionLost, NoAnswer, WebSocket
from loadtest.sending.retry import ATTEMPTS, RECONNECTIONS, is_temporary
from localstage.client.retry import backoff

EXPIRED = "token_expired"

Accepted = Callable[[Sequence[ChatEvent], float], object]
"""Called with the events that one answer accepted and the time (``time.perf_counter``) of their first send."""


@dataclass(slots=True)
class _Frame:
    request_id: str
    text: str
    events: Sequence[ChatEvent]
    first_sent: float
    attempts: int = 1


class WebSocketSender:
    """Sends over ``connection`` and records in ``checker``. Not safe to share between threads.

    ``window`` is the maximum number of unanswered frames. With ``single`` each frame is a ``sendMessage`` of one event,
    otherwise a ``sendBatch``. ``on_answer`` is called with the events of each answered frame and its seconds.
    """

    def __init__(
        self,
        connection: WebSocket,
        checker: Checker,
        *,
        window: int,
        single: bool,
        on_accepted: Accepted = lambda _events, _sent: None,
        on_answer: Callable[[int, float], object] = lambda _count, _seconds: None,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self._connection = connection
        self._checker = checker
        self._window = window
        self._single = single
        self._on_accepted = on_accepted
        self._on_answer = on_answer
        self._pause = pause
        self._pending: dict[str, _Frame] = {}
        self._requests = 0
        self._unmatched = 0

    def send(self, events: Sequence[ChatEvent], due: float | None = None) -> None:
        """Send ``events`` in one frame; wait while the window is full. Latency counts from ``due``, by default now.

        Raises:
            ConnectionLost: the connection could not be opened again; pending frames stay unanswered.
        """
        for event in events:
            self._checker.attempt(event)
        frame = self._frame(events, time.perf_counter() if due is None else due)
        self._transmit(frame)
        while len(self._pending) >= self._window:
            self._take_answer()

    def finish(self) -> None:
        """Wait until every frame is answered or given up after eight attempts.

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
            self._reconnect("connection_lost")

    def _take_answer(self) -> None:
        try:
            answer = self._connection.receive()
        except (NoAnswer, ConnectionLost) as error:
            self._reconnect("no_answer" if isinstance(error, NoAnswer) else "connection_lost")
            return
        if (answer.get("error") or {}).get("code") == EXPIRED:
            self._reconnect(EXPIRED)  # every connection is opened with a valid token
            return
        frame = self._pending.pop(str(answer.get("requestId")), None)
        if frame is None:
            self._count_unmatched(answer)
        else:
            self._take_matched(frame, answer)
        # Every unanswered frame has an answer without an id: all of them failed.
        if self._unmatched and self._unmatched >= len(self._pending):
            self._pause(0.1)
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
        retry_after, code = 0.0, ""
        for event, result in zip(frame.events, results, strict=True):
            error = result.get("error")
            if error is None and result.get("messageId") == event.message_id:
                if result.get("timestamp") != event.timestamp:
                    self._checker.refuse(event, "wrong_timestamp")
                    continue
                self._checker.acknowledge(event, seconds, str(result.get("lane")))
                accepted.append(event)
            elif error is not None and is_temporary(result) and frame.attempts < ATTEMPTS:
                later.append(event)
                code = str(error.get("code"))
                retry_after = max(retry_after, float(error["retryAfter"] or 0))
            else:
                self._checker.refuse(event, str(error.get("code", "error")) if error else "wrong_answer")
        if accepted:
            self._on_accepted(accepted, frame.first_sent)
        if later:
            self._checker.retry(code, len(later))
            self._pause(backoff(frame.attempts, retry_after))
            self._transmit(self._frame(later, frame.first_sent, frame.attempts + 1))

    def _count_unmatched(self, answer: dict[str, Any]) -> None:
        """Count an answer without a request id, such as an error of API Gateway. Other late answers do not count."""
        kind = answer.get("type")
        if kind is None or (kind == "error" and "requestId" not in answer):
            self._unmatched += 1
            self._checker.errors["unmatched"] += 1

    def _send_again(self) -> None:
        try:
            self._resend()
        except ConnectionLost:
            self._reconnect("connection_lost")

    def _reconnect(self, reason: str) -> None:
        """Open the connection again and send every unanswered frame again, under the same ids."""
        self._checker.reconnect()
        self._checker.retry(reason, sum(len(frame.events) for frame in self._pending.values()))
        for attempt in range(1, RECONNECTIONS + 1):
            try:
                self._connection.open()
                self._resend()
                return
            except ConnectionLost:
                if attempt == RECONNECTIONS:
                    raise
                self._pause(backoff(attempt))

    def _resend(self) -> None:
        self._unmatched = 0
        for frame in list(self._pending.values()):
            frame.attempts += 1
            if frame.attempts > ATTEMPTS:
                del self._pending[frame.request_id]
                self._checker.errors["no_answer"] += len(frame.events)
                continue
            self._connection.send(frame.text)
