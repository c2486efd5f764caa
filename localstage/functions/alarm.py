"""A timer that is set with every event and hardly ever rings."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable


class Alarm:
    """Calls ``ring`` once at the time that was set last. Setting a later time and clearing cost an assignment.

    The timer of the loop costs several times as much, so it stays until its time, and is started again if need be.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], object]) -> None:
        self._loop = loop
        self._ring = ring
        self._at = math.inf
        self._timer: asyncio.TimerHandle | None = None

    def set(self, seconds: float) -> None:
        """Ring in ``seconds``, instead of at an earlier setting."""
        self._at = self._loop.time() + seconds
        if self._timer is not None and self._timer.when() > self._at:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = self._loop.call_at(self._at, self._due)

    def clear(self) -> None:
        """Do not ring."""
        self._at = math.inf

    def _due(self) -> None:
        self._timer = None
        if self._at <= self._loop.time():
            self.clear()
            self._ring()
        elif self._at < math.inf:
            self._timer = self._loop.call_at(self._at, self._due)
