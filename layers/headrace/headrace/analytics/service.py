"""Analytics: answers about any window of a stream."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from headrace import times
from headrace.analytics import answers
from headrace.analytics.aggregate import Aggregate
from headrace.analytics.build import Builder, Node
from headrace.analytics.requests import WindowRequest
from headrace.analytics.scan import Deadline, Scanner
from headrace.analytics.scope import Scope
from headrace.analytics.slots import Known, Memory, Slots
from headrace.analytics.steps import MINUTE, Pieces, Slot, pieces
from headrace.auth import ANALYTICS_READ, Caller
from headrace.cache import Cache
from headrace.times import Clock

MERGED_LIMIT = 8
"""Windows whose merged slots stay in memory."""

Generations = tuple[tuple[Slot, bytes | None], ...]


class Analytics:
    """Answers for one caller at a time.

    Every answer equals a scan of the table as it was ``settle`` seconds ago, or later (P9): that is how long an index
    may lag behind its table, and how long the latest minute is read anew every time.
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
        self._memory = Memory()
        self._merged: OrderedDict[tuple[Scope, Generations], Aggregate] = OrderedDict()

    @property
    def units(self) -> float:
        """The read units that all answers together cost."""
        return self._scanner.units

    def window(self, caller: Caller, request: WindowRequest, deadline: Deadline) -> dict[str, Any]:
        """Totals, rates, unique users, top users and groups.

        Raises:
            Forbidden, TokenExpired: the caller may not ask; StoreUnavailable.
        """
        now = self._allowed(caller)
        found = self._whole(request, now, deadline)
        return {**answers.frame(request, now, self._settle), **answers.window_body(request, found)}

    def active_users(self, caller: Caller, request: WindowRequest, deadline: Deadline) -> dict[str, Any]:
        """How many users there were.

        Raises:
            Forbidden, TokenExpired: the caller may not ask; StoreUnavailable.
        """
        now = self._allowed(caller)
        found = self._whole(request, now, deadline)
        return {
            **answers.frame(request, now, self._settle),
            "uniqueUsers": found.tallies[0].unique(),
            "accuracy": answers.accuracy(request, found),
        }

    def series(self, caller: Caller, request: WindowRequest, deadline: Deadline) -> dict[str, Any]:
        """Counts and unique users per step of the window.

        Raises:
            Forbidden, TokenExpired: the caller may not ask; StoreUnavailable.
        """
        now = self._allowed(caller)
        split, slots = self._split(request, now)
        with self._builder(request, split, slots, slots.look(split.slots), now, deadline) as builder:
            points = answers.series_points(request, chain(builder.before(), builder.slots(), builder.after()))
        return {**answers.frame(request, now, self._settle), "step": request.step, "points": points}

    def _allowed(self, caller: Caller) -> int:
        now = self._clock.now()
        caller.require(ANALYTICS_READ, now=now)
        return now

    def _whole(self, request: WindowRequest, now: int, deadline: Deadline) -> Aggregate:
        """All of the window as one aggregate."""
        split, slots = self._split(request, now)
        known = slots.look(split.slots)
        generations = tuple((each.slot, each.generation) for each in known)
        is_complete = all(each.found for each in known)
        merged = self._merged.get((request.scope, generations)) if is_complete else None
        nodes = [] if merged is not None else known
        with self._builder(request, split, slots, nodes, now, deadline) as builder:
            before = list(builder.before())
            if merged is None:
                merged = _merge(request, builder.slots())
                if is_complete:
                    self._remember((request.scope, generations), merged)
            edges = [*before, *builder.after()]
        return _merge(request, [(_ANY, merged), *edges]) if edges else merged

    def _split(self, request: WindowRequest, now: int) -> tuple[Pieces, Slots]:
        closed_until = int(now / times.SECOND - self._settle)
        slots = Slots(self._cache, self._memory, request.scope, self._scanner.read_shards, self._clock, self._settle)
        return pieces(request.window, closed_until), slots

    def _builder(
        self, request: WindowRequest, split: Pieces, slots: Slots, known: list[Known], now: int, deadline: Deadline
    ) -> Builder:
        nodes = [Node(each, asked=True) for each in known]
        edges = (split.before, split.after)
        return Builder(self._scanner, request.scope, slots, nodes, edges, now, deadline, self._sleep)

    def _remember(self, key: tuple[Scope, Generations], merged: Aggregate) -> None:
        self._merged[key] = merged
        while len(self._merged) > MERGED_LIMIT:
            self._merged.popitem(last=False)


_ANY = Slot(0, MINUTE)


def _merge(request: WindowRequest, parts: Iterable[tuple[Slot, Aggregate]]) -> Aggregate:
    whole = Aggregate.nothing(len(request.scope.attributes))
    for _, part in parts:
        whole.merge(part)
    return whole
