"""Clients that POST events over HTTP, singly or in batches, each until it is answered for good; and their account.

What may succeed later (429, 5xx, no answer, one event of a batch) is sent again under the same ids, after a pause with
jitter that grows and that the answer's ``Retry-After`` may lengthen.
"""

from __future__ import annotations

import random
import threading
import time
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from loadtest.checker.checker import Latency
from localstage.client.errors import HttpError
from localstage.client.http_api import HttpApi

ATTEMPTS = 8
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0

Event = TypeVar("Event")


@dataclass(frozen=True)
class Parcel(Generic[Event]):
    """One POST: to ``path``, what ``body`` makes of the events that are still to be accepted."""

    path: str
    events: Sequence[Event]
    body: Callable[[Sequence[Event]], Mapping[str, Any]]


@dataclass
class Account:
    """What became of all POSTs. Safe to share between threads.

    ``answered`` counts POSTs, ``again`` those that were sent again; ``accepted`` and ``refused`` count events, and one
    that is sent twice on purpose counts once. ``seconds`` are of answers that accepted something.
    """

    accepted: int = 0
    refused: int = 0
    answered: int = 0
    again: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    lanes: Counter[str] = field(default_factory=Counter)
    seconds: array[float] = field(default_factory=lambda: array("d"))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, results: Sequence[Mapping[str, Any]], seconds: float, *, repeated: bool) -> None:
        """An answer with one result per event."""
        with self._lock:
            self.answered += 1
            accepted = [each["lane"] for each in results if "lane" in each]
            if accepted:
                self.seconds.append(seconds)
            if not repeated:
                self.accepted += len(accepted)
                self.lanes.update(accepted)

    def note_refused(self, codes: Sequence[str]) -> None:
        """Events that were refused for good."""
        with self._lock:
            self.refused += len(codes)
            self.errors.update(codes)

    def note_again(self, code: str) -> None:
        """A POST that is sent again because of ``code``."""
        with self._lock:
            self.again += 1
            self.errors[code] += 1

    @property
    def latency(self) -> Latency:
        """Of the answers so far."""
        with self._lock:
            return Latency.of(self.seconds)


class Poster:
    """One client. ``pause`` sleeps, ``clock`` tells seconds."""

    def __init__(
        self,
        api: HttpApi,
        account: Account,
        pause: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._api = api
        self._account = account
        self._pause = pause
        self._clock = clock

    def post(self, parcel: Parcel[Event], *, repeated: bool = False, due: float | None = None) -> bool:
        """Send ``parcel`` until each of its events is accepted or refused, eight times at most; whether all are.

        An answer's time counts from its own POST, or from when the parcel was ``due`` (as ``clock`` tells it).
        """
        left = list(parcel.events)
        taken = 0
        for attempt in range(1, ATTEMPTS + 1):
            began = self._clock() if due is None else due
            try:
                results = self._api.post(parcel.path, parcel.body(left))["results"]
            except HttpError as error:
                if not error.retryable:
                    self._account.note_refused([error.code] * len(left))
                    return False
                self._account.note_again(error.code)
                self._wait(attempt, error.retry_after)
                continue
            self._account.note(results, self._clock() - began, repeated=repeated)
            taken += sum("lane" in each for each in results)
            left = self._left(left, results)
            if not left:
                break
            self._account.note_again("in a batch")
            self._wait(attempt, None)
        return taken == len(parcel.events)

    def _left(self, events: Sequence[Event], results: Sequence[Mapping[str, Any]]) -> list[Event]:
        """The events to send again."""
        errors = [each.get("error") for each in results]
        self._account.note_refused([each["code"] for each in errors if each and "retryAfter" not in each])
        return [event for event, each in zip(events, errors, strict=True) if each and "retryAfter" in each]

    def _wait(self, attempt: int, retry_after: float | None) -> None:
        longest = min(FIRST_PAUSE * 2**attempt, LONGEST_PAUSE)
        self._pause((retry_after or 0.0) + random.uniform(0, longest))
