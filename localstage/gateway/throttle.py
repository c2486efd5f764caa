"""API Gateway's throttle: a token bucket."""

from __future__ import annotations

import time
from collections.abc import Callable

from localstage.core.model import Throttle


class TokenBucket:
    """Lets ``burst`` requests through at once and ``rate`` per second after that."""

    def __init__(self, throttle: Throttle, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = throttle.rate
        self._burst = float(throttle.burst)
        self._clock = clock
        self._tokens = self._burst
        self._at = clock()

    def take(self) -> bool:
        """Take one token; ``False`` when there is none, which is a 429."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


def bucket(throttle: Throttle | None) -> TokenBucket | None:
    """Return a bucket for a throttle, or ``None`` where nothing is throttled."""
    return None if throttle is None else TokenBucket(throttle)
