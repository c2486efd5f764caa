"""Posts events over HTTP, one at a time or in batches, until each is accepted or refused.

After a temporary error (429, 5xx, no answer, one event of a batch) the events are sent again under the same ids, after
a pause of :func:`localstage.client.retry.backoff`.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from loadtest.checker.verdict import Latency
from loadtest.sending.retry import ATTEMPTS, is_temporary
from localstage.client.errors import HttpError
from localstage.client.http_api import HttpApi
from localstage.client.retry import backoff

Event = TypeVar("Event")
Result = Mapping[str, Any]


@dataclass(frozen=True)
class PostRequest(Generic[Event]):
    """A POST to ``path``. ``body`` returns the JSON body for the events that are not accepted yet."""

    path: str
    events: Sequence[Event]
    body: Callable[[Sequence[Event]], Mapping[str, Any]]


class Recorder(Protocol):
    """Records the results of an :class:`HttpSender`. Safe to share between threads."""

    def on_answer(self, events: Sequence[Any], results: Sequence[Result], seconds: float, *, repeated: bool) -> None:
        """Record an answer with one result per event, ``seconds`` after the POST was sent or due."""
        ...

    def on_refused(self, events: Sequence[Any], codes: Sequence[str]) -> None:
        """Record events that were refused permanently, each with its error code."""
        ...

    def on_retry(self, codes: Sequence[str]) -> None:
        """Record that events are sent again because of these error codes, one per event."""
        ...


@dataclass
class SendStatistics:
    """A :class:`Recorder` that counts. Safe to share between threads.

    ``answered`` and ``retried`` count POSTs, ``accepted`` and ``refused`` count events. A repeated event
    counts once. ``seconds`` has one entry for each answer that accepted something.
    """

    accepted: int = 0
    refused: int = 0
    answered: int = 0
    retried: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    lanes: Counter[str] = field(default_factory=Counter)
    seconds: array[float] = field(default_factory=lambda: array("d"))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def on_answer(self, _events: Sequence[Any], results: Sequence[Result], seconds: float, *, repeated: bool) -> None:
        with self._lock:
            self.answered += 1
            lanes = [each["lane"] for each in results if "lane" in each]
            if lanes:
                self.seconds.append(seconds)
            if not repeated:
                self.accepted += len(lanes)
                self.lanes.update(lanes)

    def on_refused(self, events: Sequence[Any], codes: Sequence[str]) -> None:
        with self._lock:
            self.refused += len(events)
            self.errors.update(codes)

    def on_retry(self, codes: Sequence[str]) -> None:
        with self._lock:
            self.retried += 1
            self.errors.update(set(codes))

    @property
    def latency(self) -> Latency:
        """The latency of the answers so far."""
        with self._lock:
            return Latency.of(self.seconds)


class HttpSender:
    """Sends :class:`PostRequest` over ``api``. Safe to share between threads.

    ``pause`` sleeps for seconds, ``clock`` returns seconds. ``is_unauthorized`` is True once the stage has refused the
    token: it would refuse every other request too.
    """

    def __init__(
        self,
        api: HttpApi,
        recorder: Recorder,
        *,
        attempts: int = ATTEMPTS,
        pause: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._api = api
        self._recorder = recorder
        self._attempts = attempts
        self._pause = pause
        self._clock = clock
        self.is_unauthorized = False

    def send(self, request: PostRequest[Event], *, repeated: bool = False, due: float | None = None) -> bool:
        """Send ``request`` until each event is accepted or refused; return True if all are accepted.

        Latency is measured from each POST, or from ``due`` (a time of ``clock``). ``repeated`` marks events that were
        sent before on purpose.
        """
        left = list(request.events)
        accepted = 0
        for attempt in range(1, self._attempts + 1):
            began = self._clock() if due is None else due
            try:
                results = self._api.post(request.path, request.body(left))["results"]
            except HttpError as error:
                if not error.retryable:
                    self._recorder.on_refused(left, [error.code] * len(left))
                    if error.is_unauthorized:
                        self.is_unauthorized = True
                    return False
                self._recorder.on_retry([error.code] * len(left))
                self._pause(backoff(attempt, error.retry_after))
                continue
            self._recorder.on_answer(left, results, self._clock() - began, repeated=repeated)
            accepted += sum("error" not in each for each in results)
            left, codes = self._left(left, results)
            if not left:
                break
            self._recorder.on_retry(codes)
            self._pause(backoff(attempt))
        return accepted == len(request.events)

    def _left(self, events: Sequence[Event], results: Sequence[Result]) -> tuple[list[Event], list[str]]:
        """The events to send again, with their error codes."""
        failed = [(event, each) for event, each in zip(events, results, strict=True) if "error" in each]
        again = [(event, each["error"]["code"]) for event, each in failed if is_temporary(each)]
        refused = [(event, each["error"]["code"]) for event, each in failed if not is_temporary(each)]
        if refused:
            self._recorder.on_refused([event for event, _ in refused], [code for _, code in refused])
        return [event for event, _ in again], [code for _, code in again]
