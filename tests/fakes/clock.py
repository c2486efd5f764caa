"""Clocks for tests."""

from __future__ import annotations

from headrace.core.times import SECOND, parse_iso


class FixedClock:
    """A :class:`~headrace.core.times.Clock` that changes only by :meth:`advance`."""

    def __init__(self, now: int | str) -> None:
        self._now = parse_iso(now) if isinstance(now, str) else now

    def now(self) -> int:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock by ``seconds``, which may be negative."""
        self._now += round(seconds * SECOND)


class Seconds:
    """A monotonic clock in seconds, which moves only by a sleep, or when a test sets it."""

    def __init__(self, now: float = 100.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        """Return at once, ``seconds`` later."""
        self.now += seconds
