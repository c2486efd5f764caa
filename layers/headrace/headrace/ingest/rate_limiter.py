"""Holds each sender to a number of events/s, over all environments as far as they know of each other.

A request is decided by what its environment knows, in microseconds. At most once a second, an environment that takes
events tells the cache what it let through, and learns what all others did; a thread of its own does so, beside the
publishing, and no request waits for it. What an environment could not know is what it may let through too much: a
window never holds more than the limit from one environment, and what others let through in about the last two seconds
comes on top. Without the cache each environment holds its own limit.

An environment that is frozen while it tells is no worse off: what is not known to have arrived is told again, and what
is counted twice or late keeps a limit on for longer, at most for a window.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import CacheUnavailable, RateLimited
from headrace.core.keys import rate_key
from headrace.ingest.shared_counts import RateSums, Told
from headrace.ingest.sliding_window import WINDOW_SECONDS, Gauge, Limit
from headrace.runtime.observability import Meter, report, report_unexpected
from headrace.runtime.settings import RateSettings

EVERY_SECONDS = 1.0
SENDERS = 10_000
"""Senders that an environment remembers; far more than it can serve in a window."""
AT_ONCE = 500
"""Senders that are told of in one round trip."""

_Sender = tuple[bool, str]


class Admission(Protocol):
    """Says how many events of a request may pass."""

    def admit(self, caller: Caller, events: int, meter: Meter) -> tuple[int, RateLimited | None]:
        """How many, the first ones, and why the others may not. Never raises, never waits."""
        ...


class Unlimited:
    """Lets everything pass."""

    def admit(self, caller: Caller, events: int, meter: Meter) -> tuple[int, RateLimited | None]:  # noqa: ARG002
        """All of them."""
        return events, None


UNLIMITED: Admission = Unlimited()


class Throttle:
    """An :class:`Admission` by sender. ``sums`` is ``None`` where there is no cache."""

    def __init__(
        self, settings: RateSettings, sums: RateSums | None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        rates = (settings.event_rate, settings.trusted_event_rate)
        self._limits = tuple(Limit(rate, settings.event_rate_off_percent) if rate else None for rate in rates)
        self._sums = sums
        self._monotonic = monotonic
        self._gauges: OrderedDict[_Sender, Gauge] = OrderedDict()
        self._asked: dict[_Sender, None] = {}
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._under_way: Future[None] | None = None
        # Not with the first request: its environment has enough to do, and may never see another.
        self._told = monotonic()

    def admit(self, caller: Caller, events: int, meter: Meter) -> tuple[int, RateLimited | None]:
        """How many of ``events`` may pass, the first ones, and why the others may not."""
        trusted = caller.has(EVENTS_WRITE)
        limit = self._limits[trusted]
        if limit is None:
            return events, None
        sender = (trusted, caller.subject)
        now = self._monotonic()
        with self._lock:
            gauge = self._gauge(sender, limit)
            was_on = gauge.is_on
            passed = gauge.take(events, now)
            wait = gauge.wait(now)
            self._asked[sender] = None
        self._exchange(now)
        if passed == events:
            return events, None
        if not was_on:
            meter.count("SenderLimited", senders="trusted" if trusted else "users")
        return passed, _refusal(limit, wait)

    def _gauge(self, sender: _Sender, limit: Limit) -> Gauge:
        gauge = self._gauges.get(sender)
        if gauge is None:
            gauge = self._gauges[sender] = Gauge(limit)
            if len(self._gauges) > SENDERS:
                self._gauges.popitem(last=False)
        self._gauges.move_to_end(sender)
        return gauge

    def _exchange(self, now: float) -> None:
        if self._sums is None or now - self._told < EVERY_SECONDS:
            return
        if self._under_way is not None and not self._under_way.done():
            return
        self._told = now
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "throttle")
        self._under_way = self._pool.submit(self._tell, self._sums)

    def _tell(self, sums: RateSums) -> None:
        with self._lock:
            senders = list(self._asked)[:AT_ONCE]
            for each in senders:
                del self._asked[each]
            now = self._monotonic()
            gauges = {each: self._gauges[each] for each in senders if each in self._gauges}
            told = [_told(each, gauge, now) for each, gauge in gauges.items()]
        try:
            known = sums.exchange(told)
        except CacheUnavailable as error:
            report("rates", f"each environment holds senders to their rates by itself: {error.message}")
            return
        except Exception as error:  # noqa: BLE001 - reported; nobody else would ever hear of it
            report_unexpected(error)
            return
        for gauge, everybody in zip(gauges.values(), known, strict=True):
            with self._lock:
                gauge.learn(everybody.counts, self._monotonic(), is_on=everybody.is_on)


def _told(sender: _Sender, gauge: Gauge, now: float) -> Told:
    trusted, subject = sender
    return Told(rate_key(subject, trusted=trusted), gauge.limit, gauge.tell(now), gauge.is_on)


def _refusal(limit: Limit, wait: float) -> RateLimited:
    seconds = max(1, math.ceil(wait))
    allowed = f"{limit.rate} events/s, measured over {WINDOW_SECONDS:g} s"
    return RateLimited(f"more than this sender may send ({allowed}); send it again as it is", retry_after=seconds)
