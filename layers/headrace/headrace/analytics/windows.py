"""Analytics: answers about any window of a stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import chain, groupby, islice
from typing import Any, TypeVar

from headrace.analytics import responses
from headrace.analytics.aggregate import Aggregate
from headrace.analytics.builder import Builder, Node
from headrace.analytics.requests import WindowRequest
from headrace.analytics.scanner import Deadline, Scanner
from headrace.analytics.scope import Scope
from headrace.analytics.slot_cache import LocalAggregates, SlotCache, SlotState
from headrace.analytics.time_slots import DAY, MINUTE, Pieces, Slot, pieces
from headrace.core import times
from headrace.core.times import Clock
from headrace.runtime.bounded import BoundedDict
from headrace.storage.cache import Cache

MERGED_LIMIT = 16
"""Windows and runs of slots whose merged aggregates stay in memory."""
T = TypeVar("T")
Key = tuple[Scope, tuple[tuple[Slot, bytes | None], ...]]


class Analytics:
    """Answers one request at a time.

    Every answer equals a scan of the table as it was ``settle`` seconds ago, or later (P9): an index may lag behind its
    table for so long, and the latest minute is read again for so long.
    Every method raises StoreUnavailable if the table does not answer, or not before the deadline.
    """

    def __init__(
        self,
        scanner: Scanner,
        cache: Cache,
        clock: Clock,
        settle: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._scanner = scanner
        self._cache = cache
        self._clock = clock
        self._settle = settle
        self._sleep = sleep
        self._local = LocalAggregates()
        self._merged: BoundedDict[Key, Aggregate] = BoundedDict(MERGED_LIMIT)

    @property
    def units(self) -> float:
        """The read units that all answers together cost."""
        return self._scanner.units

    def series(self, request: WindowRequest, deadline: Deadline) -> dict[str, Any]:
        """Counts and unique users per step of the window."""
        now = self._clock.now()
        split, slots = self._split(request, now)
        with self._builder(request, split, slots, slots.read(split.slots), now, deadline) as builder:
            points = responses.series_points(request, chain(builder.before(), builder.slots(), builder.after()))
        return {**responses.frame(request, now, self._settle), "step": request.step, "points": points}

    def whole(self, request: WindowRequest, deadline: Deadline) -> tuple[dict[str, Any], Aggregate]:
        """What every answer begins with, and the aggregate of the whole window."""
        now = self._clock.now()
        found = self._whole(request, now, deadline)
        return responses.frame(request, now, self._settle), found

    def steps(
        self, request: WindowRequest, deadline: Deadline, shape: Callable[[Aggregate], T]
    ) -> tuple[dict[str, Any], Aggregate, list[tuple[int, T]]]:
        """The same, and for each step its start (microseconds) and what ``shape`` makes of its aggregate."""
        now = self._clock.now()
        split, slots = self._split(request, now, request.step)
        whole = Aggregate.nothing(len(request.scope.attributes))
        shaped: list[tuple[int, T]] = []
        with self._builder(request, split, slots, slots.read(split.slots), now, deadline) as builder:
            parts = chain(builder.before(), builder.slots(), builder.after())
            for start, found in responses.by_step(request, parts):
                whole.merge(found)
                shaped.append((start, shape(found)))
        return responses.frame(request, now, self._settle), whole, shaped

    def _whole(self, request: WindowRequest, now: int, deadline: Deadline) -> Aggregate:
        """All of the window as one aggregate."""
        split, slots = self._split(request, now)
        known = slots.read(split.slots)
        whole = self._held(request, known)
        # A window that moves on keeps most of its longer slots: each run of one length is merged once. Its minutes
        # change with every move, so they go straight into the whole.
        runs = [] if whole is not None else [list(run) for _, run in groupby(known, lambda each: each.slot.step)]
        held = [self._held(request, run) for run in runs]
        *keys, key = [_key(request, run) for run in [*runs, known]]
        nodes = [each for run, found in zip(runs, held, strict=True) if found is None for each in run]
        with self._builder(request, split, slots, nodes, now, deadline) as builder:
            before = list(builder.before())
            parts = (part for _, part in builder.slots())
            merged: list[Aggregate] = []
            for run, found, run_key in zip(runs, held, keys, strict=True):
                if found is not None:
                    merged.append(found)
                elif run[0].slot.step == MINUTE:
                    merged.extend(islice(parts, len(run)))
                else:
                    merged.append(self._remember(run_key, _merge(request, islice(parts, len(run)))))
            if whole is None:
                ordered = sorted(merged, key=lambda each: -each.total)
                whole = self._remember(key, _merge(request, ordered))
            edges = [part for _, part in chain(before, builder.after())]
        return _merge(request, [whole, *edges]) if edges else whole

    def _held(self, request: WindowRequest, known: list[SlotState]) -> Aggregate | None:
        """The merged aggregate of these slots, if their generations are still the same."""
        key = _key(request, known)
        if key is None or key not in self._merged:
            return None
        self._merged.move_to_end(key)
        return self._merged[key]

    def _remember(self, key: Key | None, merged: Aggregate) -> Aggregate:
        if key is not None:
            self._merged[key] = merged
        return merged

    def _split(self, request: WindowRequest, now: int, longest: int = DAY) -> tuple[Pieces, SlotCache]:
        closed_until = int(now / times.SECOND - self._settle)
        slots = SlotCache(self._cache, self._local, request.scope, self._scanner.read_shards, self._clock, self._settle)
        return pieces(request.window, closed_until, longest), slots

    def _builder(
        self,
        request: WindowRequest,
        split: Pieces,
        slots: SlotCache,
        known: list[SlotState],
        now: int,
        deadline: Deadline,
    ) -> Builder:
        nodes = [Node(each, asked=True) for each in known]
        edges = (split.before, split.after)
        return Builder(self._scanner, request.scope, slots, nodes, edges, now, deadline, self._sleep)


def _key(request: WindowRequest, known: list[SlotState]) -> Key | None:
    """The slots and generations that their merged aggregate depends on; ``None`` if some are missing."""
    if len(known) < 2 or not all(each.found for each in known):
        return None
    return request.scope, tuple((each.slot, each.generation) for each in known)


def _merge(request: WindowRequest, parts: Iterable[Aggregate]) -> Aggregate:
    whole = Aggregate.nothing(len(request.scope.attributes))
    for part in parts:
        whole.merge(part)
    return whole
