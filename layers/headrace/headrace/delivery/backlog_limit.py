"""Refuses new events of a stream that has a backlog, see :mod:`headrace.delivery.backlog`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping

from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import CacheUnavailable, RateLimited
from headrace.delivery.backlog import FRESH_SECONDS, SHARE_SECONDS, SharedWaits
from headrace.runtime.observability import Meter, report
from headrace.runtime.threads import Background

USERS = 2
"""Events of users are refused above so many times the limit of producers."""
WAIT_SECONDS = 0.05
"""The longest that a request waits for the reading that it starts. Usually it takes 0.2 ms."""


class BacklogLimit:
    """Refuses events of the ``streams`` that would wait for more than ``limit`` seconds, or ``USERS`` times as many.

    The waits are read at most once a second. ``clock`` gives seconds since the epoch.
    """

    def __init__(
        self, waits: SharedWaits, streams: Iterable[str], limit: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._waits = waits
        self._streams = tuple(streams)
        self._limit = limit
        self._clock = clock
        self._known: tuple[float, Mapping[str, float]] = (0.0, {})
        # The first reading imports the cache's library: not in a cold start.
        self._background = Background("backlog", SHARE_SECONDS, WAIT_SECONDS, clock, delay=SHARE_SECONDS)

    def refusal(self, stream: str, caller: Caller, events: int, meter: Meter) -> RateLimited | None:
        """Why new events of ``stream`` are refused now; ``None`` if they are not. Never raises."""
        self._background.run(self._read)
        read_at, waits = self._known
        wait = waits.get(stream, 0.0)
        is_producer = caller.has(EVENTS_WRITE)
        most = self._limit if is_producer else USERS * self._limit
        if wait <= most or abs(self._clock() - read_at) > FRESH_SECONDS:
            return None
        meter.count("BacklogLimited", events, stream=stream, senders="trusted" if is_producer else "users")
        message = f"the stage is behind: an event would wait about {wait:.0f} s to be stored; send it again as it is"
        return RateLimited(message, retry_after=min(math.ceil(wait - most), FRESH_SECONDS))

    def _read(self) -> None:
        try:
            self._known = (self._clock(), self._waits.read(self._streams))
        except (CacheUnavailable, ValueError) as error:  # ValueError: what is shared is no number
            self._known = (0.0, {})
            report("backlog", f"no events are refused for a backlog: {error}")
