"""Computes the sending rate and the pauses after refusals. It reads no clock: callers pass the time.

The rate grows by a constant each second and halves after each refusal (additive increase, multiplicative decrease). So
clients that share a limit each reach a steady rate, without knowing the limit or each other. The pause after a refusal
is the server's ``Retry-After`` and a random time, whose bound doubles with each attempt (full jitter). So clients that
were refused together do not return together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LONGEST_RETRY_AFTER = 300.0
"""The longest ``Retry-After`` that is obeyed, in seconds."""


@dataclass(frozen=True)
class SendSettings:
    """How fast to send, how long to wait after a refusal, and when to give up.

    Rates are events per second: the first one, and the bounds of later ones. ``increase`` is added to the rate in each
    second of sending; after a refusal the rate is multiplied by ``decrease``. ``first_pause`` and ``longest_pause`` are
    seconds: the bound of the random part of a pause starts at the first and doubles up to the longest. What is refused
    for a time is sent again until ``retry_timeout`` seconds after the first refusal without an accepted event.
    """

    first_rate: float = 1000.0
    lowest_rate: float = 1.0
    highest_rate: float = 20_000.0
    increase: float = 5.0
    decrease: float = 0.5
    first_pause: float = 0.2
    longest_pause: float = 20.0
    retry_timeout: float = 120.0

    def __post_init__(self) -> None:
        if not isinstance(self.retry_timeout, (int, float)) or not self.retry_timeout > 0:
            raise ValueError(f"retry_timeout: {self.retry_timeout!r} is not a number of seconds above 0")


class Pace:
    """The rate and the pauses of one sender. ``uniform(low, high)`` returns a random number between both."""

    def __init__(self, settings: SendSettings, uniform: Callable[[float, float], float]) -> None:
        self._settings = settings
        self._uniform = uniform
        self._next_send_at = 0.0
        self._increased_at: float | None = None
        self._refusals = 0
        self._give_up_at = 0.0
        self.rate = settings.first_rate
        """The current rate, in events per second."""

    def delay(self, now: float) -> float:
        """Seconds until the next events may be sent."""
        return max(0.0, self._next_send_at - now)

    def batch_size(self) -> int:
        """The number of events to send at once: those of one second, at least 1."""
        return max(1, int(self.rate))

    def sent(self, events: int, now: float) -> None:
        """Record that ``events`` events are sent now."""
        self._next_send_at = max(now, self._next_send_at) + events / self.rate
        if self._increased_at is None:
            self._increased_at = now

    def accepted(self, now: float) -> None:
        """Record an answer without temporary errors."""
        if self._increased_at is not None:
            increased = self.rate + self._settings.increase * min(1.0, now - self._increased_at)
            self.rate = min(self._settings.highest_rate, increased)
        self._increased_at = now
        self._refusals = 0

    def refused(self, retry_after: float | None, *, is_first: bool = False) -> float:
        """Record a refusal; returns the seconds to wait.

        ``retry_after``: the seconds that the server named. ``is_first``: something was accepted since the last refusal.
        """
        self.rate = max(self._settings.lowest_rate, self.rate * self._settings.decrease)
        self._increased_at = None
        if is_first:
            self._refusals = 0
        bound = min(self._settings.longest_pause, self._settings.first_pause * 2 ** min(self._refusals, 16))
        self._refusals += 1
        return min(max(retry_after or 0.0, 0.0), LONGEST_RETRY_AFTER) + self._uniform(0.0, bound)

    def retry(self, now: float, retry_after: float | None) -> float | None:
        """Record a refusal of a single request; returns the seconds to wait, or ``None`` if it is time to give up."""
        if not self._refusals:
            self._give_up_at = now + self._settings.retry_timeout
        pause = self.refused(retry_after)
        return pause if now + pause < self._give_up_at else None
