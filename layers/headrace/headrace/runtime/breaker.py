"""Circuit breakers and cool-downs: calls to an unavailable service fail in microseconds, and are tried again later.

A closed breaker lets every call through and remembers the results of the last ``window`` calls. It opens when more
than ``failure_percent`` of them failed, and refuses every call for ``probe_seconds``. Then it lets exactly one call
through (half open), which closes it or opens it again. In a new environment a third of the window is enough to open.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

T = TypeVar("T")
State = Literal["closed", "open", "half_open"]

CLOSED: State = "closed"
OPEN: State = "open"
HALF_OPEN: State = "half_open"
COOLDOWN_SECONDS = 5.0

OnState = Callable[[str, State], object]
"""Is called with a breaker's name and state after a call that changed it, so also when a probe failed."""


@dataclass(frozen=True, kw_only=True)
class BreakerRule:
    """When a breaker opens, and when it tries again: ``probe_seconds`` later. Its states are reported to ``on_state``.

    To leave the dead lane empty, an outage must be shorter than the retry budget by these seconds.
    """

    failure_percent: int = 50
    window: int = 10
    probe_seconds: float = 10.0
    on_state: OnState | None = None
    monotonic: Callable[[], float] = time.monotonic


class Breaker(Generic[T]):
    """A breaker around calls that return a ``T``; ``is_failure`` decides which results are failures. Thread-safe.

    A call that raises is a failure too; the exception is raised to the caller.
    """

    def __init__(self, name: str, rule: BreakerRule, is_failure: Callable[[T], bool]) -> None:
        self.name = name
        self._rule = rule
        self._least = min(rule.window, max(2, rule.window // 3))
        self._is_failure = is_failure
        self._lock = threading.Lock()
        self._failed: deque[bool] = deque(maxlen=rule.window)
        """Whether each of the latest calls failed, since the breaker closed."""
        self._state: State = CLOSED
        self._changes = 0
        self._opened_at = 0.0
        self._reported = 0

    @property
    def state(self) -> State:
        """The current state. After ``probe_seconds``, ``open`` lasts until the next call."""
        return self._state

    def call(self, attempt: Callable[[], T]) -> T | None:
        """The result of ``attempt``; ``None`` if it was not called because the breaker is open."""
        began, failed = self._begin(), True
        try:
            if began is None:
                return None
            result = attempt()
            failed = self._is_failure(result)
            return result
        finally:
            if began is not None:
                self._end(began, failed=failed)
            if self._rule.on_state is not None and self._reported != self._changes:
                self._reported = self._changes
                self._rule.on_state(self.name, self._state)

    def _begin(self) -> int | None:
        """How often the state had changed when the call was let through; ``None`` if it is refused."""
        with self._lock:
            if self._state == OPEN and self._rule.monotonic() - self._opened_at >= self._rule.probe_seconds:
                self._enter(HALF_OPEN)
                return self._changes
            return self._changes if self._state == CLOSED else None

    def _end(self, began: int, *, failed: bool) -> None:
        with self._lock:
            if began != self._changes:
                # The breaker opened during the call, which says nothing about the service as it is now.
                return
            if self._state == HALF_OPEN:
                self._enter(OPEN if failed else CLOSED)
                return
            self._failed.append(failed)
            calls = len(self._failed)
            if calls >= self._least and 100 * self._failed.count(True) > self._rule.failure_percent * calls:
                self._enter(OPEN)

    def _enter(self, state: State) -> None:
        self._state = state
        self._changes += 1
        self._failed.clear()
        if state == OPEN:
            self._opened_at = self._rule.monotonic()


class Cooldown:
    """Says whether a dependency failed a moment ago, so that its timeout is not paid with every request.

    It replaces a circuit breaker where a single failure is reason enough and its state is shown nowhere::

        if cooldown.is_active:
            return fallback
        try:
            return call()
        except CacheUnavailable:
            cooldown.start()
            return fallback
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._until = float("-inf")

    @property
    def is_active(self) -> bool:
        """Whether to skip the call."""
        return self._monotonic() < self._until

    def start(self) -> None:
        """Skip calls from now on, for ``COOLDOWN_SECONDS``."""
        self._until = self._monotonic() + COOLDOWN_SECONDS
