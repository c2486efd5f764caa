"""The routes of analytics, and the aggregates of slots that are merged into the answer for any window of a stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from typing import Any, TypeVar

from headrace.api.router import Request
from headrace.core import times
from headrace.core.collections import BoundedDict
from headrace.core.stream import Stream
from headrace.core.times import Clock
from headrace.features.analytics import responses
from headrace.features.analytics.aggregate import Aggregate
from headrace.features.analytics.builder import Builder, Tail, Window
from headrace.features.analytics.generations import GRACE_SECONDS, SETTLE_SECONDS
from headrace.features.analytics.requests import Scope, StepQuery, TopQuery, WindowQuery, WindowRequest
from headrace.features.analytics.responses import active_users_body, window_body
from headrace.features.analytics.scanner import Scanner
from headrace.features.analytics.slot_cache import LocalAggregates, SlotCache, SlotState
from headrace.features.analytics.time_slots import DAY, MINUTE, Span, pieces
from headrace.storage.redis import Cache

MARGIN_SECONDS = 4.0
"""Reading stops so many seconds before the end of an invocation, to store what was read, and to answer."""
MERGED_LIMIT = 16
"""Windows and runs of slots whose merged aggregates are kept in memory."""
TAIL_SECONDS = 2.0
"""For so long, the tail of a window is not read again."""
T = TypeVar("T")
Key = tuple[Scope, tuple[tuple[str, bytes | None], ...]]


@dataclass(frozen=True)
class Analytics:
    """Answers one request at a time about the events of ``stream``.

    Every answer equals a scan of the table as it was at its ``asOf``, or later (P9). That is ``SETTLE_SECONDS`` before
    the tail of the window was read: an index may lag behind its table for that time.
    All methods raise StoreUnavailable if the table does not answer before the deadline.
    """

    stream: Stream
    scanner: Scanner
    cache: Cache
    clock: Clock
    _local: LocalAggregates = field(default_factory=LocalAggregates)
    _merged: BoundedDict[Key, Aggregate] = field(default_factory=lambda: BoundedDict(MERGED_LIMIT))
    _tails: BoundedDict[tuple[Scope, Span], Tail] = field(default_factory=lambda: BoundedDict(MERGED_LIMIT))

    def series(self, request: WindowRequest, deadline: float) -> dict[str, Any]:
        """Counts and unique users per step of the window."""
        window = self._window(request)
        with Builder(self.scanner, window, window.known, deadline) as builder:
            points = responses.series_points(request, chain(builder.slots(), builder.tail()))
        return {**responses.frame(request, window.tail.now), "step": request.step, "points": points}

    def steps(
        self, request: WindowRequest, deadline: float, shape: Callable[[Aggregate], T]
    ) -> tuple[dict[str, Any], Aggregate, list[tuple[int, T]]]:
        """As :meth:`whole`, and for each step its start (microseconds) and ``shape`` of its aggregate."""
        window = self._window(request, request.step)
        whole = request.scope.nothing()
        shaped: list[tuple[int, T]] = []
        with Builder(self.scanner, window, window.known, deadline) as builder:
            for start, found in responses.by_step(request, chain(builder.slots(), builder.tail())):
                whole.merge(found)
                shaped.append((start, shape(found)))
        return responses.frame(request, window.tail.now), whole, shaped

    def whole(self, request: WindowRequest, deadline: float) -> tuple[dict[str, Any], Aggregate]:
        """The first fields of the answer, and the aggregate of the whole window."""
        window = self._window(request)
        known = window.known
        whole = self._held(request, known)
        # A window that moves with time keeps most of its longer slots: each run of slots of one length is merged once.
        # Its short slots change with every move, so they are merged into the whole directly.
        runs = [] if whole is not None else [list(run) for _, run in groupby(known, lambda each: each.slot.step)]
        held = [self._held(request, run) for run in runs]
        missing = [each for run, found in zip(runs, held, strict=True) if found is None for each in run]
        with Builder(self.scanner, window, missing, deadline) as builder:
            parts = (part for _, part in builder.slots())
            merged: list[Aggregate] = []
            for run, found in zip(runs, held, strict=True):
                if found is not None:
                    merged.append(found)
                elif run[0].slot.step <= MINUTE:
                    merged.extend(islice(parts, len(run)))
                else:
                    merged.append(self._remember(request, run, _merge(request, islice(parts, len(run)))))
            if whole is None:
                ordered = sorted(merged, key=lambda each: -each.total)
                whole = self._remember(request, known, _merge(request, ordered))
            tail = [part for _, part in builder.tail()]
        frame = responses.frame(request, window.tail.now)
        return frame, _merge(request, [whole, *tail]) if tail else whole

    def _held(self, request: WindowRequest, known: list[SlotState]) -> Aggregate | None:
        """The merged aggregate of these slots, if their generations are unchanged."""
        key = _key(request, known)
        if key is None or key not in self._merged:
            return None
        self._merged.move_to_end(key)
        return self._merged[key]

    def _remember(self, request: WindowRequest, known: list[SlotState], merged: Aggregate) -> Aggregate:
        if (key := _key(request, known)) is not None:
            self._merged[key] = merged
        return merged

    def _window(self, request: WindowRequest, longest: int = DAY) -> Window:
        now, key = self.clock.now(), (request.scope, request.window)
        held = self._tails.get(key)
        if held is not None and 0 <= now - held.now <= TAIL_SECONDS * times.SECOND:
            now = held.now
        split = pieces(request.window, int(now / times.SECOND - SETTLE_SECONDS - GRACE_SECONDS), longest)
        tail = held if held is not None and held.now == now else Tail(now, split.tail)
        if tail.span is not None:
            self._tails[key] = tail
        slots = SlotCache(self.cache, self._local, request, self.clock)
        return Window(request, slots, slots.read(split.slots), tail)


def deadline(request: Request[Any, Any, Any]) -> float:
    """The time to stop reading for ``request``, by the monotonic clock."""
    return time.monotonic() + request.seconds_left - MARGIN_SECONDS


def window(analytics: Analytics, request: Request[None, TopQuery, None]) -> dict[str, Any]:
    """Totals, rates, unique users, top users and groups of a window."""
    with _measured(analytics, request):
        wanted = request.query.of(analytics.stream)
        head, found = analytics.whole(wanted, deadline(request))
        return {**head, **window_body(wanted, found)}


def active_users(analytics: Analytics, request: Request[None, WindowQuery, None]) -> dict[str, Any]:
    """The number of users who were active in a window."""
    with _measured(analytics, request):
        wanted = request.query.of(analytics.stream)
        head, found = analytics.whole(wanted, deadline(request))
        return {**head, **active_users_body(wanted, found)}


def series(analytics: Analytics, request: Request[None, StepQuery, None]) -> dict[str, Any]:
    """Counts and unique users per step of a window."""
    with _measured(analytics, request):
        return analytics.series(request.query.of(analytics.stream), deadline(request))


@contextmanager
def _measured(analytics: Analytics, request: Request[Any, Any, Any]) -> Iterator[None]:
    """Measure the read units of the answer."""
    before = analytics.scanner.units
    try:
        yield
    finally:
        request.meter.measure("AnalyticsReadUnits", analytics.scanner.units - before)


def _key(request: WindowRequest, known: list[SlotState]) -> Key | None:
    """The slots and generations that their merged aggregate depends on; ``None`` if some are neither found nor kept."""
    if len(known) < 2 or not all(each.kept for each in known):
        return None
    return request.scope, tuple((each.key, each.kept) for each in known)


def _merge(request: WindowRequest, parts: Iterable[Aggregate]) -> Aggregate:
    whole = request.scope.nothing()
    for part in parts:
        whole.merge(part)
    return whole
