"""Limits each caller to a number of events and of requests per second, by counts that the environments exchange.

A caller has one window for each kind of limit: ``events`` are counted one by one, all others by request
(:class:`RouteLimit`).

A request is decided from the counts of this environment, in microseconds. At most once a second, a background
thread reports these counts to the cache and learns those of the other environments; no request waits for it.

So one environment never admits more than the limit in a window. All environments together may exceed the limit by what
they admitted since the last exchange, about two seconds ago. Without the cache, each environment limits alone. If an
exchange gets no answer, its counts are reported again; they count twice if the cache had received them.
"""

from __future__ import annotations

import functools
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from headrace.api.rates.sliding_window import SLOT_SECONDS, SLOTS, WINDOW_SECONDS, Counts, Limit, SlidingWindow
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.collections import BoundedDict
from headrace.core.errors import CacheUnavailable, RateLimited
from headrace.core.keys import sender_tag
from headrace.runtime.observability import Meter, report
from headrace.runtime.settings import RateSettings
from headrace.runtime.threads import Background
from headrace.storage.ports import Commands

EXPIRE_SECONDS = int(2 * WINDOW_SECONDS) + 1
_RESUME = "resume"
EXCHANGE_SECONDS = 1.0
SENDERS = 10_000
"""Senders that an environment remembers; far more than it can serve in a window."""
SENDERS_PER_EXCHANGE = 500

Kind = Literal["events", "reads", "changes", "members", "rooms", "connections"]
"""What a limit counts: events; requests that read or follow; own changes; changes of other users' memberships; rooms
created; connections opened."""

PERCENT: dict[Kind, int] = {"reads": 100, "changes": 10, "connections": 5, "members": 1, "rooms": 1}
"""What a caller may send of a kind, in percent of the setting ``REQUEST_RATE``, and at least one per second.

A change writes several rows and publishes a message. A connection costs two invocations, and copies of all messages in
its rooms. Memberships of others and new rooms are rare by hand, and are how a spammer reaches other users.
"""
_COUNTED: dict[Kind, str] = {
    "events": "events",
    "reads": "reads",
    "changes": "changes",
    "members": "changes of other members",
    "rooms": "new rooms",
    "connections": "new connections",
}
_Sender = tuple[Kind, bool, str]


def rate_key(kind: str, subject: str, *, trusted: bool) -> str:
    """The cache key of a caller's recent counts of one kind, as a trusted producer or as a user."""
    return f"rate:{kind}:{'trusted' if trusted else 'user'}:{sender_tag(subject)}"


class SharedCounts:
    """Adds the counts of this environment to those of the others, in Redis or Valkey.

    A caller has one hash per ``WINDOW_SECONDS`` of time, with a field for each slot and one for the slot in which their
    closed window opens. A hash expires once its slots have left every window.
    """

    def __init__(self, cache: Commands) -> None:
        self._cache = cache

    def exchange(self, reports: Mapping[str, Counts], slot: int) -> list[Counts]:
        """Add ``reports`` by sender's key and return the counts of all environments, in order, in one round trip.

        Raises:
            CacheUnavailable: there was no answer; the reports may have been added or not.
        """
        window = slot // SLOTS
        writes: list[tuple[Any, ...]] = []
        reads = []
        for key, counts in reports.items():
            writes += [("HINCRBY", f"{key}:{at // SLOTS}", at, events) for at, events in counts.events.items()]
            if counts.resume_slot > slot:
                writes.append(("HSET", f"{key}:{window}", _RESUME, counts.resume_slot))
            reads += [("HGETALL", f"{key}:{window - 1}"), ("HGETALL", f"{key}:{window}")]
        expires = [("EXPIRE", key, EXPIRE_SECONDS) for key in dict.fromkeys(write[1] for write in writes)]
        hashes = self._cache.run([*writes, *expires, *reads])[len(writes) + len(expires) :]
        return [_counts(previous | current) for previous, current in zip(hashes[::2], hashes[1::2], strict=True)]


def _counts(fields: Mapping[bytes, bytes]) -> Counts:
    counts = {field.decode(): int(value) for field, value in fields.items()}
    resume_slot = counts.pop(_RESUME, 0)
    return Counts({int(slot): events for slot, events in counts.items()}, resume_slot)


@dataclass(frozen=True, slots=True)
class RouteLimit:
    """What each request of a route counts for: ``kind``, or ``of_others`` if it is about another user."""

    kind: Kind
    of_others: Kind | None = None

    def kind_for(self, caller: Caller, path: object) -> Kind:
        """The kind of a request whose parsed path is ``path``."""
        is_own = getattr(path, "user_id", caller.subject) == caller.subject
        return self.kind if is_own or self.of_others is None else self.of_others


READS = RouteLimit("reads")
CHANGES = RouteLimit("changes")
MEMBERS = RouteLimit("changes", of_others="members")
"""The limit of joins and leaves; a caller's own count as changes."""
OTHERS = RouteLimit("members")
"""The limit of requests that are always about another user."""
ROOMS = RouteLimit("rooms")
CONNECTIONS = RouteLimit("connections")


class RateLimiter:
    """Limits callers; ``shared`` is ``None`` without a cache. ``clock`` gives seconds since the epoch."""

    def __init__(
        self, settings: RateSettings, shared: SharedCounts | None, clock: Callable[[], float] = time.time
    ) -> None:
        rates: dict[tuple[Kind, bool], int] = {("events", False): settings.event_rate}
        if settings.request_rate:
            rates |= {(kind, False): max(1, settings.request_rate * share // 100) for kind, share in PERCENT.items()}
        rates |= {(kind, True): settings.trusted_event_rate for kind in _COUNTED}
        self._limits = {each: Limit(rate) for each, rate in rates.items() if rate}
        self._shared = shared
        self._clock = clock
        self._windows: BoundedDict[_Sender, SlidingWindow] = BoundedDict(SENDERS)
        self._active: dict[_Sender, None] = {}
        self._lock = threading.Lock()
        # The first exchange imports the cache's library: not in a cold start. By the wall clock, because the monotonic
        # one may stop while Lambda freezes the environment, and the counts of the others would get old.
        self._background = Background("rate-limiter", EXCHANGE_SECONDS, 0.0, clock, delay=EXCHANGE_SECONDS)

    def admit(self, caller: Caller, count: int, meter: Meter, kind: Kind = "events") -> tuple[int, RateLimited | None]:
        """How many of ``count`` may pass, the first ones, and why the others may not. Never raises, never waits."""
        trusted = caller.has(EVENTS_WRITE)
        limit = self._limits.get((kind, trusted))
        if limit is None:
            return count, None
        sender = (kind, trusted, caller.subject)
        now = self._clock()
        refusal = None
        with self._lock:
            window = self._window(sender, limit)
            resume_slot = window.resume_slot
            admitted = window.admit(count, now)
            if admitted < count:
                refusal = _refusal(limit, kind, window.wait(now))
                if window.resume_slot != resume_slot:
                    meter.count("SenderLimited", senders="trusted" if trusted else "users", limit=kind)
            self._active[sender] = None
        if self._shared is not None:
            self._background.run(functools.partial(self._exchange_counts, self._shared))
        return admitted, refusal

    def count_request(self, caller: Caller, kind: Kind, meter: Meter) -> tuple[dict[str, str], RateLimited | None]:
        """Count one request: the headers that say what is left, and why it is refused. Never raises, never waits."""
        _, refusal = self.admit(caller, 1, meter, kind)
        return self.headers(caller, kind), refusal

    def headers(self, caller: Caller, kind: Kind = "events") -> dict[str, str]:
        """The headers that say what a caller may do now; none without a limit. From the known counts, without I/O.

        They are ``RateLimit-Policy`` and ``RateLimit`` of draft-ietf-httpapi-ratelimit-headers-10.
        """
        trusted = caller.has(EVENTS_WRITE)
        limit = self._limits.get((kind, trusted))
        if limit is None:
            return {}
        now = self._clock()
        with self._lock:
            window = self._window((kind, trusted, caller.subject), limit)
            remaining = window.remaining(now)
            seconds = math.ceil(WINDOW_SECONDS if remaining else max(1, window.wait(now)))
        return {
            "ratelimit-policy": f'"{kind}";q={limit.most};w={WINDOW_SECONDS:.0f}',
            "ratelimit": f'"{kind}";r={remaining};t={seconds}',
        }

    def _window(self, sender: _Sender, limit: Limit) -> SlidingWindow:
        window = self._windows.get(sender) or SlidingWindow(limit)
        self._windows[sender] = window
        return window

    def _exchange_counts(self, shared: SharedCounts) -> None:
        with self._lock:
            now = self._clock()
            senders = list(self._active)[:SENDERS_PER_EXCHANGE]
            windows = {each: self._windows[each] for each in senders if each in self._windows}
            reports = {
                rate_key(kind, subject, trusted=trusted): window.report(now)
                for (kind, trusted, subject), window in windows.items()
            }
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


def _refusal(limit: Limit, kind: Kind, wait: float) -> RateLimited:
    seconds = max(1, math.ceil(wait))
    allowed = f"{limit.rate} {_COUNTED[kind]}/s, measured over {WINDOW_SECONDS:g} s"
    return RateLimited(f"more than this sender may send ({allowed}); send it again as it is", retry_after=seconds)
