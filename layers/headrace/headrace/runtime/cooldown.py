"""A cool-down: skips calls to a dependency for some seconds after one of them failed."""

from __future__ import annotations

import time
from collections.abc import Callable


class Cooldown:
    """Says whether a dependency failed less than ``seconds`` ago, so that its timeout is not paid with every request.

    It replaces a circuit breaker where a single failure is reason enough and its state is shown nowhere::

        if cooldown.is_active:
            return fallback
        try:
            return call()
        except CacheUnavailable:
            cooldown.start()
            return fallback
    """

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._until = float("-inf")

    @property
    def is_active(self) -> bool:
        """Whether to skip the call."""
        return self._monotonic() < self._until

    def start(self) -> None:
        """Skip calls from now on, for ``seconds``."""
        self._until = self._monotonic() + self._seconds
