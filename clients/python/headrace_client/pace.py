"""How fast to send, and how long to wait: decisions about times that are given.

Sending speeds up by a little every second and is cut in half by every refusal (additive increase, multiplicative
decrease): so clients that share a limit each reach a steady rate, without knowing of it or of each other. Waiting is
for as long as the other side says, and a random while on top whose bound doubles with every try (full jitter): clients
that were refused together must not come back together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

LONGEST_ADVICE = 300.0
"""Seconds that a ``Retry-After`` is believed."""


@dataclass(frozen=True)
class Tempo:
    """``first_rate`` events/s to begin with, never below ``lowest_rate`` nor above ``highest_rate``.

    ``increase`` is what the rate grows by in a second of sending, ``decrease`` what is left of it after a refusal.
    The random part of a pause is at most ``first_pause`` seconds, twice that the next time, and so on to
    ``longest_pause``. After ``tries`` in a row of which nothing was accepted, sending is given up.
    """

    first_rate: float = 1000.0
    lowest_rate: float = 1.0
    highest_rate: float = 20_000.0
    increase: float = 5.0
    decrease: float = 0.5
    first_pause: float = 0.2
    longest_pause: float = 20.0
    tries: int = 10


class Pace:
    """The pace of one sender. ``dice(low, high)`` gives a random number between the two."""

    def __init__(self, tempo: Tempo, dice: Callable[[float, float], float]) -> None:
        self._tempo = tempo
        self._dice = dice
        self._free_at = 0.0
        self._grown_at: float | None = None
        self.rate = tempo.first_rate
        """Events/s now."""

    def delay(self, now: float) -> float:
        """Seconds until something may be sent."""
        return max(0.0, self._free_at - now)

    def portion(self) -> int:
        """Events that may be sent at once: what a second takes."""
        return max(1, int(self.rate))

    def sent(self, events: int, now: float) -> None:
        """``events`` go out now."""
        self._free_at = max(now, self._free_at) + events / self.rate
        if self._grown_at is None:
            self._grown_at = now

    def accepted(self, now: float) -> None:
        """Nothing of what was sent was refused for the time being."""
        if self._grown_at is not None:
            grown = self.rate + self._tempo.increase * min(1.0, now - self._grown_at)
            self.rate = min(self._tempo.highest_rate, grown)
        self._grown_at = now

    def refused(self, tries: int, advice: float | None) -> float:
        """Seconds to wait after the refusal number ``tries`` in a row, from 1; ``advice`` is the other side's."""
        self.rate = max(self._tempo.lowest_rate, self.rate * self._tempo.decrease)
        self._grown_at = None
        bound = min(self._tempo.longest_pause, self._tempo.first_pause * 2 ** min(tries - 1, 16))
        return min(max(advice or 0.0, 0.0), LONGEST_ADVICE) + self._dice(0.0, bound)
