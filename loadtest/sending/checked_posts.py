"""Records the results of posted chat events in a checker."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from loadtest.checker.checker import Checker
from loadtest.client.chat_events import ChatEvent
from loadtest.sending.http_sender import Result
from loadtest.sending.websocket_sender import Accepted


class CheckedPosts:
    """A :class:`loadtest.sending.http_sender.Recorder` for chat events. ``on_accepted`` is called as by WebSockets."""

    def __init__(
        self,
        checker: Checker,
        on_accepted: Accepted = lambda _events, _sent: None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._checker = checker
        self._on_accepted = on_accepted
        self._clock = clock

    def on_answer(
        self,
        events: Sequence[Any],
        results: Sequence[Result],
        seconds: float,
        *,
        repeated: bool,  # noqa: ARG002 - a recorder has it
    ) -> None:
        """Record the accepted events; ``repeated`` has no effect."""
        accepted: list[ChatEvent] = []
        for event, result in zip(events, results, strict=True):
            if "error" in result:
                continue
            if (result.get("messageId"), result.get("timestamp")) != (event.message_id, event.timestamp):
                self._checker.refuse(event, "wrong_answer")
                continue
            self._checker.acknowledge(event, seconds, str(result.get("lane")))
            accepted.append(event)
        if accepted:
            self._on_accepted(accepted, self._clock() - seconds)

    def on_refused(self, events: Sequence[Any], codes: Sequence[str]) -> None:
        """Record events that were refused permanently."""
        for event, code in zip(events, codes, strict=True):
            self._checker.refuse(event, code)

    def on_retry(self, codes: Sequence[str]) -> None:
        """Record events that are sent again."""
        for code, count in Counter(codes).items():
            self._checker.retry(code, count)
