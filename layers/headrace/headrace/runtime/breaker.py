"""A circuit breaker: calls to an unavailable service fail in microseconds until a call succeeds again.

A closed breaker lets every call through and remembers the results of the last ``window`` calls. It opens when more
than ``failure_percent`` of them failed, and refuses every call for ``probe_seconds``. Then it lets exactly one call
through (half open), which closes it or opens it again. In a new environment a third of the window is enough to open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Generic, Literal, TypeVar

from interlock import CircuitBreaker, CircuitOpenError, Config
from interlock.protocols import Clock

from headrace.runtime.settings import BreakerSettings

T = TypeVar("T")
State = Literal["closed", "open", "half_open"]

CLOSED: State = "closed"
OPEN: State = "open"


OnState = Callable[[str, State], object]
"""Is called with a breaker's name and state: after each call while it is not closed, and once when it has closed."""


class Breaker(Generic[T]):
    """A breaker around calls that return a ``T``; ``is_failure`` decides which results are failures. Thread-safe.

    A call that raises is a failure too; the exception is raised to the caller.
    """

    def __init__(
        self,
        name: str,
        settings: BreakerSettings,
        is_failure: Callable[[T], bool],
        on_state: OnState | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self._breaker = CircuitBreaker(name=name, config=_config(settings), classifier=_Judge(is_failure), clock=clock)
        self._on_state = on_state
        self._last_state: State = CLOSED

    @property
    def state(self) -> State:
        """The current state. After ``probe_seconds``, ``open`` lasts until the next call."""
        return self._breaker.state.value  # type: ignore[return-value]  # other states are only set by hand

    def call(self, attempt: Callable[[], T]) -> T | None:
        """The result of ``attempt``; ``None`` if it was not called because the breaker is open."""
        try:
            return self._breaker.call_sync(attempt)
        except CircuitOpenError:
            return None
        finally:
            state = self.state
            if self._on_state is not None and (state != CLOSED or self._last_state != CLOSED):
                self._last_state = state
                self._on_state(self.name, state)


class _Judge(Generic[T]):
    def __init__(self, is_failure: Callable[[T], bool]) -> None:
        self._is_failure = is_failure

    def is_failure(self, *, result: object, exception: Exception | None) -> bool:
        return exception is not None or self._is_failure(result)  # type: ignore[arg-type]  # a T


def _config(settings: BreakerSettings) -> Config:
    window = settings.breaker_window
    return Config(
        # The library opens at the threshold; the setting means above it.
        failure_rate_threshold=math.nextafter(settings.breaker_failure_percent / 100, 1.0),
        window_size=window,
        minimum_number_of_calls=min(window, max(2, window // 3)),
        wait_duration_in_open=settings.breaker_probe_seconds,
        permitted_calls_in_half_open=1,
        max_concurrent_probes=1,
        # Calls have their own time limits; a slow one that succeeds is a success.
        slow_call_duration_threshold=math.inf,
    )
