"""Keeps the rides or clicks of one phase that were accepted, so that the answers can be compared with them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from loadtest.measured.measurements import Measurements
from loadtest.runs.work import Sent
from loadtest.sending.http_sender import Result

Event = TypeVar("Event")


class PostedEvents(Generic[Event]):
    """A :class:`loadtest.sending.http_sender.Recorder`. For the greenlets of one process: nothing is locked.

    ``on_accepted`` is called with the accepted events of one request, and when it was sent or due.
    """

    def __init__(self, measurements: Measurements, on_accepted: Callable[[Sequence[Event], float], object]) -> None:
        self.accepted: list[Event] = []
        self.attempted = 0
        self._measurements = measurements
        self._on_accepted = on_accepted
        self._refused = 0
        self._lanes: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._retries: Counter[str] = Counter()

    def on_answer(
        self,
        events: Sequence[Any],
        results: Sequence[Result],
        seconds: float,
        *,
        repeated: bool,  # noqa: ARG002 - a recorder has it
    ) -> None:
        """Keep the accepted events; ``repeated`` has no effect."""
        accepted = [event for event, result in zip(events, results, strict=True) if "error" not in result]
        self._lanes.update(str(each.get("lane")) for each in results if "error" not in each)
        self.accepted += accepted
        if accepted:
            self._measurements.record("ack", seconds, len(accepted))
            self._measurements.count("accepted", len(accepted))
            self._on_accepted(accepted, time.perf_counter() - seconds)

    def on_refused(self, events: Sequence[Any], codes: Sequence[str]) -> None:
        """Count events that were refused permanently."""
        self._refused += len(events)
        self._errors.update(codes)

    def on_retry(self, codes: Sequence[str]) -> None:
        """Count events that are sent again."""
        self._retries.update(codes)

    def sent(self) -> Sent:
        """What was sent so far."""
        return Sent(
            self.attempted,
            len(self.accepted),
            self._refused,
            dict(self._lanes),
            dict(self._errors),
            dict(self._retries),
        )
