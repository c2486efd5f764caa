"""Limits each sender to a number of events/s, by counts that the environments exchange.

A request is decided from the counts of this environment, in microseconds. At most once a second, a background
thread reports these counts to the cache and learns those of the other environments; no request waits for it.

An environment therefore never admits more than the limit in a window. All together can exceed it by what the others
admitted since they last exchanged counts, about two seconds. Without the cache each environment enforces the limit
independently. Counts of an exchange without an answer are reported again. If the cache had received them, they count
twice until they leave the window.
"""

from __future__ import annotations

import functools
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import CacheUnavailable, RateLimited
from headrace.core.keys import rate_key
from headrace.ingest.shared_counts import SharedCounts
from headrace.ingest.sliding_window import SLOT_SECONDS, WINDOW_SECONDS, Limit, SlidingWindow
from headrace.runtime.background import Background
from headrace.runtime.bounded import BoundedDict
from headrace.runtime.observability import Meter, report
from headrace.runtime.settings import RateSettings

EXCHANGE_SECONDS = 1.0
SENDERS = 10_000
"""Senders that an environment remembers; far more than it can serve in a window."""
SENDERS_PER_EXCHANGE = 500

_Sender = tuple[bool, str]


@dataclass(frozen=True, slots=True)
class Quota:
    """A sender may send ``most`` events in a window, and ``remaining`` of them now; all again after ``seconds``."""

    most: int
    remaining: int
    seconds: int


class RateLimiter:
    """Limits senders; ``shared`` is ``None`` without a cache. ``clock`` gives seconds since the epoch."""

    def __init__(
        self, settings: RateSettings, shared: SharedCounts | None, clock: Callable[[], float] = time.time
    ) -> None:
        rates = (settings.event_rate, settings.trusted_event_rate)
        self._limits = tuple(Limit(rate, settings.event_rate_off_percent) if rate else None for rate in rates)
        self._shared = shared
        self._clock = clock
        self._windows: BoundedDict[_Sender, SlidingWindow] = BoundedDict(SENDERS)
        self._active: dict[_Sender, None] = {}
        self._lock = threading.Lock()
        # The first exchange imports the cache's library: not in a cold start. By the wall clock, because the monotonic
        # one may stop while Lambda freezes the environment, and the counts of the others would get old.
        self._background = Background("rate-limiter", EXCHANGE_SECONDS, 0.0, clock, delay=EXCHANGE_SECONDS)

    def admit(self, caller: Caller, events: int, meter: Meter) -> tuple[int, RateLimited | None]:
        """How many of ``events`` may pass, the first ones, and why the others may not. Never raises, never waits."""
        trusted = caller.has(EVENTS_WRITE)
        limit = self._limits[trusted]
        if limit is None:
            return events, None
        sender = (trusted, caller.subject)
        now = self._clock()
        refusal = None
        with self._lock:
            window = self._window(sender, limit)
            resume_slot = window.resume_slot
            admitted = window.admit(events, now)
            if admitted < events:
                refusal = _refusal(limit, window.wait(now))
                if window.resume_slot != resume_slot:
                    meter.count("SenderLimited", senders="trusted" if trusted else "users")
            self._active[sender] = None
        if self._shared is not None:
            self._background.run(functools.partial(self._exchange_counts, self._shared))
        return admitted, refusal

    def quota(self, caller: Caller) -> Quota | None:
        """What a sender may send now; ``None`` if it has no limit. From the known counts, without I/O."""
        trusted = caller.has(EVENTS_WRITE)
        limit = self._limits[trusted]
        if limit is None:
            return None
        now = self._clock()
        with self._lock:
            window = self._window((trusted, caller.subject), limit)
            remaining = window.remaining(now)
            return Quota(limit.most, remaining, math.ceil(WINDOW_SECONDS if remaining else max(1, window.wait(now))))

    def _window(self, sender: _Sender, limit: Limit) -> SlidingWindow:
        window = self._windows.get(sender) or SlidingWindow(limit)
        self._windows[sender] = window
        return window

    def _exchange_counts(self, shared: SharedCounts) -> None:
        with self._lock:
            now = self._clock()
            senders = list(self._active)[:SENDERS_PER_EXCHANGE]
            windows = {each: self._windows[each] for each in senders if each in self._windows}
            reports = {rate_key(each[1], trusted=each[0]): window.report(now) for each, window in windows.items()}
            for each in senders:
                del self._active[each]
        try:
            counts = shared.exchange(reports, int(now / SLOT_SECONDS))
        except CacheUnavailable as error:
            report("rates", f"each environment limits senders independently: {error.message}")
            return
        with self._lock:
            now = self._clock()
            for window, everywhere in zip(windows.values(), counts, strict=True):
                window.learn(everywhere, now)


def _refusal(limit: Limit, wait: float) -> RateLimited:
    seconds = max(1, math.ceil(wait))
    allowed = f"{limit.rate} events/s, measured over {WINDOW_SECONDS:g} s"
    return RateLimited(f"more than this sender may send ({allowed}); send it again as it is", retry_after=seconds)
