"""How much one sender may send: a rate limit with hysteresis, as a pure decision about counts and times.

A :class:`Gauge` counts what it let through in the last ``WINDOW_SECONDS``. When that comes to the limit's ``most``, the
limit goes on: nothing more is let through until the window holds ``few`` or less. What was refused does not count, so
whoever goes on knocking is let in again as soon as whoever waits.

Counts are kept in steps of ``STEP_SECONDS`` and leave the window a little late, never early: so no window of
``WINDOW_SECONDS``, wherever it begins, holds more than ``most``. Times are seconds of a clock that never goes back.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

WINDOW_SECONDS = 5.0
STEP_SECONDS = 0.25

Count = tuple[float, int]
"""When the last of some events may have been let through at the latest, and how many they are."""


@dataclass(frozen=True, slots=True)
class Limit:
    """``rate`` events/s on average over a window; once it is reached, back to ``off_percent`` of it first."""

    rate: int
    off_percent: int

    @property
    def most(self) -> int:
        """Events that one window may hold."""
        return math.floor(self.rate * WINDOW_SECONDS)

    @property
    def few(self) -> int:
        """Events in the window at which a limit that is on goes off; fewer than ``most``."""
        return min(self.most * self.off_percent // 100, self.most - 1)


class _Step:
    """``events`` that were let through before ``end``."""

    __slots__ = ("end", "events")

    def __init__(self, end: float, events: int) -> None:
        self.end = end
        self.events = events


class Gauge:
    """What one sender sent lately: what was let through here, and what is known of everywhere else.

    Not safe for threads: whoever shares one holds a lock.
    """

    __slots__ = ("_known", "_own", "_own_sum", "_sent", "_sum", "_untold", "is_on", "limit")

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self._known: deque[_Step] = deque()
        """All that counts, in the order in which it leaves the window."""
        self._own: deque[_Step] = deque()
        """What was let through here: it counts even if everybody else has forgotten it."""
        self._untold: list[_Step] = []
        self._sent: list[_Step] = []
        """Those of them that nobody was told of, and those that nobody is known to have heard of."""
        self._sum = self._own_sum = 0
        self.is_on = False
        """Whether the limit is on."""

    def take(self, events: int, now: float) -> int:
        """How many of ``events`` more may pass; they are counted. The limit goes on when it is not all of them."""
        self._forget(now)
        if self.is_on:
            return 0
        passed = min(events, max(0, self.limit.most - max(self._sum, self._own_sum)))
        self.is_on = passed < events
        if passed:
            self._add(passed, now)
        return passed

    def wait(self, now: float) -> float:
        """Seconds until a limit that is on goes off, as far as is known now; 0 when it is off."""
        self._forget(now)
        if not self.is_on:
            return 0.0
        return max(self._wait(self._known, self._sum, now), self._wait(self._own, self._own_sum, now))

    def _wait(self, steps: Iterable[_Step], left: int, now: float) -> float:
        wait = 0.0
        for step in steps:
            if left <= self.limit.few:
                break
            left -= step.events
            wait = step.end + WINDOW_SECONDS - now
        return wait

    def tell(self, now: float) -> list[Count]:
        """What is to be told to everybody. It is told again until :meth:`learn` says that it has arrived."""
        self._sent = [step for step in [*self._sent, *self._untold] if step.end + WINDOW_SECONDS > now]
        self._untold = []
        return [(max(0.0, now - step.end), step.events) for step in self._sent]

    def learn(self, counts: Iterable[Count], now: float, *, is_on: bool) -> None:
        """Know ``counts`` of everybody, what was last told among them. ``is_on``: the limit is on for everybody."""
        known = sorted((_Step(now - age, events) for age, events in counts), key=lambda step: step.end)
        self._sent = []
        self._known = deque([*known, *self._untold])
        self._sum = sum(step.events for step in self._known)
        self.is_on = self.is_on or is_on
        self._forget(now)

    def _add(self, events: int, now: float) -> None:
        self._sum += events
        self._own_sum += events
        end = (math.floor(now / STEP_SECONDS) + 1) * STEP_SECONDS
        if self._untold and self._untold[-1].end == end:
            self._untold[-1].events += events
            return
        step = _Step(end, events)
        self._untold.append(step)
        self._known.append(step)
        self._own.append(step)

    def _forget(self, now: float) -> None:
        """Drop what has left the window. The limit goes off when little enough is left."""
        gone = now - WINDOW_SECONDS
        while self._known and self._known[0].end <= gone:
            self._sum -= self._known.popleft().events
        while self._own and self._own[0].end <= gone:
            self._own_sum -= self._own.popleft().events
        while self._untold and self._untold[0].end <= gone:
            del self._untold[0]
        if self.is_on and max(self._sum, self._own_sum) <= self.limit.few:
            self.is_on = False
