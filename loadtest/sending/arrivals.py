"""What is sent when: all at once, or at a constant rate that does not wait for answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

GRACE = 5.0
"""Seconds after the end of a run in which requests that are late are still sent."""


@dataclass(frozen=True)
class Arrival:
    """A request with ``events`` events. Its latency counts from ``due``, a time of the clock; None: when it is sent."""

    events: int
    due: float | None


class Arrivals:
    """The requests that some users share. Each takes the next one when its last one was answered.

    ``events`` (0: no limit) arrive in requests of ``batch``, at ``rate`` events a second (0: as fast as users take
    them) for ``seconds`` (0: until all are sent). With a rate, a request for which no user was free is sent late, and
    its latency includes the delay. ``clock`` is in seconds.
    """

    def __init__(
        self,
        events: int,
        batch: int,
        rate: float = 0.0,
        seconds: float = 0.0,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._left = events if events else None
        self._batch = batch
        self._rate = rate
        self._seconds = seconds
        self._clock = clock
        self._taken = 0
        self._began = clock()

    def take(self) -> Arrival | None:
        """The next request; None when there are no more."""
        now = self._clock() - self._began
        due = self._taken / self._rate if self._rate else now
        if self._seconds and (due >= self._seconds or now >= self._seconds + GRACE):
            return None
        count = self._batch if self._left is None else min(self._batch, self._left)
        if count == 0:
            return None
        if self._left is not None:
            self._left -= count
        self._taken += count
        return Arrival(count, self._began + due if self._rate else None)

    @property
    def unsent(self) -> int:
        """Events that were due and that no user took before the end."""
        if not (self._rate and self._seconds):
            return self._left or 0
        return max(0, round(min(self._seconds, self._clock() - self._began) * self._rate) - self._taken)
