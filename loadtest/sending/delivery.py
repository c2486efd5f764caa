"""Sends events with the Python client until each is accepted or refused, and records what happened."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

from headrace_client import BlockingSender, BlockingTransport, SendSettings
from headrace_client.calls import is_temporary
from loadtest.checker.checker import Checker, OnAccepted, SendCounts, ignore
from loadtest.client.command import RETRY_TIMEOUT
from localstage.client.errors import ClientError

UNLIMITED = 1e9
SAY_EVERY = 10.0
"""Seconds between two lines that say why senders wait."""


class SentEvent(Protocol):
    """An event of a stream."""

    def event(self) -> dict[str, Any]:
        """The event as JSON, as it is sent."""
        ...


Event = TypeVar("Event", bound=SentEvent)


class Delivery:
    """Sends over ``transport``, and tells ``recorder`` what happened to each event.

    With ``paced``, :meth:`wait` slows the caller down after refusals, as the Python client does by default. Once
    ``stopping`` is set, nothing is waited for. Not safe to share between threads.
    """

    def __init__(
        self,
        transport: BlockingTransport,
        recorder: Checker | CountedEvents[Any],
        retry_timeout: float = RETRY_TIMEOUT,
        *,
        paced: bool = False,
        stopping: threading.Event | None = None,
    ) -> None:
        settings = SendSettings(first_pause=0.4, longest_pause=5.0, retry_timeout=retry_timeout)
        if not paced:
            settings = replace(settings, first_rate=UNLIMITED, lowest_rate=UNLIMITED, highest_rate=UNLIMITED)
        self._stopping = stopping or threading.Event()
        options: Any = {"identify": lambda event: event, "stopped": self._stopping.is_set}
        self._sender = BlockingSender(transport, settings, sleep=self._stopping.wait, **options)
        self._retry_timeout = retry_timeout
        self._recorder: Any = recorder

    def wait(self) -> None:
        """Wait until the pace allows the next events, so that their latency does not count the wait."""
        if delay := self._sender.pace.delay(time.monotonic()):
            self._stopping.wait(delay)

    def send(self, events: Sequence[SentEvent], due: float | None = None) -> bool:
        """Send ``events``; returns whether all were accepted. Their latency counts from ``due``, by default now.

        Events without an answer are neither accepted nor refused.

        Raises:
            ClientError: the stage does not accept the token, or the time in which it accepts events is over.
        """
        late = 0.0 if due is None else time.perf_counter() - due
        self._recorder.attempted(events)
        sent = self._sender.send([each.event() for each in events], raise_for_errors=False)
        accepted: dict[float, list[tuple[SentEvent, str]]] = {}
        for event, each in zip(events, sent, strict=True):
            if each.error is None:
                accepted.setdefault(each.seconds, []).append((event, str(each.lane)))
            elif not is_temporary({"error": each.error}):
                self._recorder.refused(event, str(each.error.get("code")))
        for seconds, together in accepted.items():
            found, lanes = zip(*together, strict=True)
            self._recorder.accepted(found, lanes, late + seconds)
        self._fail_for([each.error for each in sent if each.error and is_temporary({"error": each.error})])
        return sum(map(len, accepted.values())) == len(events)

    def repeat(self, events: Sequence[SentEvent]) -> None:
        """Send accepted ``events`` once more, as a client that missed the answer. Nothing is recorded.

        Raises:
            ClientError: the stage does not accept them again.
        """
        sent = self._sender.send([each.event() for each in events], raise_for_errors=False)
        self._fail_for([each.error for each in sent if each.error])

    def _fail_for(self, errors: Sequence[Any]) -> None:
        if errors and not self._stopping.is_set():
            when = f"in at most {self._retry_timeout:g} s (RETRY_TIMEOUT)"
            raise ClientError(f"events not accepted {when}: {len(errors)}; {errors[0].get('message')}")


class ProgressLines(logging.Handler):
    """Says why senders wait, as the client logs it, at most once in ``SAY_EVERY`` seconds."""

    def __init__(self, say: Callable[[str], object]) -> None:
        super().__init__()
        self._say, self._due = say, 0.0
        log = logging.getLogger("headrace_client")
        log.handlers, log.propagate = [self], False
        log.setLevel(logging.INFO)

    def emit(self, record: logging.LogRecord) -> None:
        """Say it."""
        if record.created >= self._due:
            self._due = record.created + SAY_EVERY
            self._say(record.getMessage())


class CountedEvents(SendCounts, Generic[Event]):
    """Keeps the events that were accepted, and counts the others. For one thread, or the greenlets of one process."""

    def __init__(self, on_accepted: OnAccepted = ignore) -> None:
        super().__init__()
        self.all_accepted: list[Event] = []
        self.attempts = 0
        self.refusals = 0
        self._on_accepted = on_accepted

    @property
    def unanswered(self) -> int:
        """How many events have no answer: each may be stored or not."""
        return self.attempts - len(self.all_accepted) - self.refusals

    def attempted(self, events: Sequence[Event]) -> None:
        """Record events before they are sent."""
        self.attempts += len(events)

    def accepted(self, events: Sequence[Event], lanes: Sequence[str], seconds: float) -> None:
        """Keep accepted events."""
        self.all_accepted += events
        self.lanes.update(lanes)
        self._on_accepted(events, time.perf_counter() - seconds)

    def refused(self, _event: Event, code: str) -> None:
        """Count an event that was refused permanently."""
        self.refusals += 1
        self.errors[code] += 1
