"""Limits each caller to a number of events and of requests per second, by counts that the environments exchange.

A caller has one window for each kind of limit: ``events`` are counted one by one, all others by request
(:class:`RouteLimit`), and typing by room.

A request is decided from the counts of this environment, in microseconds. At most once a second, a background
thread reports these counts to the cache and learns those of the other environments; no request waits for it.

A request waits for an exchange, some 0.2 ms, when this environment has admitted more of a sender than a share of the
limit since the last one: a batch, or one of many quick requests. What it finds to be over the limit is refused. So of
all environments together, a window holds at most the limit and a share for each of them: 16 admit 1.5 times the limit.

Without the cache, each environment limits alone. If an exchange gets no answer, its counts are reported again; they
count twice if the cache had received them. Until the next answer, no request waits.
"""

from __future__ import annotations

import math
import threading
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
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
from headrace.storage.redis import Cache

EXPIRE_SECONDS = int(2 * WINDOW_SECONDS) + 1
_RESUME = "resume"
EXCHANGE_SECONDS = 1.0
WAIT_SECONDS = 0.05
"""The longest that a request waits for an exchange that another thread makes, before it is decided alone."""
SENDERS = 10_000
"""Senders that an environment remembers; far more than it can serve in a window."""
SENDERS_PER_EXCHANGE = 500

Kind = Literal["events", "signals", "reads", "changes", "members", "rooms", "connections", "typing"]
"""What a limit counts: events; signals; requests that read or follow; own changes; changes of other users' memberships;
rooms created; connections opened; signals that say that the caller is typing in a room."""

PERCENT: dict[Kind, int] = {"reads": 100, "signals": 10, "changes": 10, "connections": 5, "members": 1, "rooms": 1}
"""What a caller may send of a kind, in percent of the setting ``REQUEST_RATE``, and at least one per second.

A signal is pushed to every subscriber of its room. A change writes several rows and publishes a message. A connection
costs two invocations, and copies of all messages in its rooms. Memberships of others and new rooms are rare by hand,
and are how a spammer reaches other users.
"""
TYPING = Limit(rate=1 / 2.75, seconds=2.75)
"""Typing signals of one caller in one room, without a setting: more often says nothing more. A slot leaves a window
late, so a window of 3 s would refuse each second one of a client that sends every 3 s."""
_COUNTED: dict[Kind, str] = {
    "events": "events",
    "signals": "signals",
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

    def __init__(self, cache: Cache) -> None:
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
        answers = self._cache.run([*writes, *expires, *reads])
        hashes = answers[len(writes) + len(expires) :]
        # A slot counts up to this report: of environments that report at once, the first ones keep what they admitted.
        written = {write[1:3]: int(answer) for write, answer in zip(writes, answers, strict=False)}
        found = []
        for (key, counts), previous, current in zip(reports.items(), hashes[::2], hashes[1::2], strict=True):
            everywhere = {field.decode(): int(value) for field, value in (previous | current).items()}
            resume_slot = everywhere.pop(_RESUME, 0)
            events = {int(at): events for at, events in everywhere.items()}
            events |= {at: written[f"{key}:{at // SLOTS}", at] for at in counts.events}
            found.append(Counts(events, resume_slot))
        return found


@dataclass(frozen=True, slots=True)
class RouteLimit:
    """What each request of a route counts for: ``kind``, or ``of_others`` if it is about another user."""

    kind: Kind
    of_others: Kind | None = None

    def kind_for(self, caller: Caller, path: Mapping[str, str] | None) -> Kind:
        """The kind of a request with these path parameters, as they were sent."""
        user = (path or {}).get("userId", caller.subject)
        is_own = unicodedata.normalize("NFC", user) == caller.subject
        return self.kind if is_own or self.of_others is None else self.of_others


READS = RouteLimit("reads")
EVENTS = RouteLimit("events")
"""The limit of a request that is one event, on a route without a stream."""
SIGNALS = RouteLimit("signals")
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
        self._limits |= {("typing", False): TYPING, ("typing", True): TYPING}
        self._shared = shared
        self._clock = clock
        self._windows: BoundedDict[_Sender, SlidingWindow] = BoundedDict(SENDERS)
        self._active: dict[_Sender, None] = {}
        self._lock = threading.Lock()
        self._exchanging = threading.Lock()
        self._has_answer = True
        """Whether the last exchange has got an answer, as far as is known."""
        # The first exchange imports the cache's library: not in a cold start. By the wall clock, because the monotonic
        # one may stop while Lambda freezes the environment, and the counts of the others would get old.
        self._background = Background("rate-limiter", EXCHANGE_SECONDS, 0.0, clock, delay=EXCHANGE_SECONDS)

    def admit(
        self, caller: Caller, count: int, meter: Meter, kind: Kind = "events", room_id: str = ""
    ) -> tuple[int, RateLimited | None]:
        """How many of ``count`` may pass, the first ones, and why the others may not. Never raises.

        With a ``room_id``, those of this room are counted alone. It waits for an exchange if this environment has
        admitted more than its share since the last one.
        """
        trusted = caller.has(EVENTS_WRITE)
        limit = self._limits.get((kind, trusted))
        if limit is None:
            return count, None
        sender = (kind, trusted, f"{room_id}#{caller.subject}" if room_id else caller.subject)
        now = self._clock()
        with self._lock:
            window = self._window(sender, limit)
            resume_slot = window.resume_slot
            admitted = window.admit(count, now)
            self._active[sender] = None
            is_share = not admitted or window.unreported <= limit.share
        if self._shared is not None:
            if self._has_answer and not is_share:
                admitted -= self._over(self._shared, sender, window, admitted, now)
            self._background.run(self._exchange_active)
        if admitted == count:
            return admitted, None
        if window.resume_slot != resume_slot:
            meter.count("SenderLimited", senders="trusted" if trusted else "users", limit=kind)
        return admitted, _refusal(limit, kind, window.wait(now))

    def _over(self, shared: SharedCounts, sender: _Sender, window: SlidingWindow, admitted: int, now: float) -> int:
        """How many of the events that were ``admitted`` are over the limit, by the counts of all environments."""
        if not self._exchanging.acquire(timeout=WAIT_SECONDS):
            self._has_answer = False
            return 0
        try:
            self._exchange(shared, [sender])
        finally:
            self._exchanging.release()
        with self._lock:
            over = window.give_back(admitted, now) if self._has_answer else 0
            if over:
                self._active[sender] = None
        return over

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
        window = self._windows.get(sender)
        if window is None:
            window = self._windows[sender] = SlidingWindow(limit)
        else:
            self._windows.move_to_end(sender)
        return window

    def _exchange_active(self) -> None:
        with self._exchanging:
            with self._lock:
                senders = list(self._active)[:SENDERS_PER_EXCHANGE]
            if self._shared is not None:
                self._exchange(self._shared, senders)

    def _exchange(self, shared: SharedCounts, senders: Sequence[_Sender]) -> None:
        """Report the counts of ``senders``, and learn those of all environments. Only with ``_exchanging``."""
        with self._lock:
            now = self._clock()
            windows = {each: self._windows[each] for each in senders if each in self._windows}
            reports = {
                rate_key(kind, subject, trusted=trusted): window.report(now)
                for (kind, trusted, subject), window in windows.items()
            }
            for each in senders:
                self._active.pop(each, None)
        try:
            counts = shared.exchange(reports, int(now / SLOT_SECONDS))
        except (CacheUnavailable, ValueError) as error:  # ValueError: its counts are no numbers
            self._has_answer = False
            report("rates", f"each environment limits senders independently: {error}")
            return
        with self._lock:
            self._has_answer = True
            now = self._clock()
            for window, everywhere in zip(windows.values(), counts, strict=True):
                window.learn(everywhere, now)


def _refusal(limit: Limit, kind: Kind, wait: float) -> RateLimited:
    seconds = max(1, math.ceil(wait))
    if kind == "typing":
        return RateLimited("typing is shown once in 3 s for each user and room", retry_after=seconds)
    allowed = f"{limit.rate} {_COUNTED[kind]}/s, measured over {WINDOW_SECONDS:g} s"
    return RateLimited(f"more than this sender may send ({allowed}); send it again as it is", retry_after=seconds)
