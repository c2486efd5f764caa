"""Many small HTTP requests to one host at once: over kept connections, in one thread, for little CPU.

General HTTP clients spend more on one such request than all the rest of a push costs: here an answer's status is all
that matters. What frames an answer in another way than Content-Length costs its connection, and nothing else.
"""

from __future__ import annotations

import heapq
import itertools
import math
import selectors
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from headrace.live.push.http_connection import HttpConnection, Target

IDLE_SECONDS = 20.0
"""How long a connection may rest and still be used. By the wall clock, which a freeze does not stop: what lies on the
way may have forgotten it."""


class HttpExchange(Protocol):
    """Something that takes one or more requests, one after the other."""

    def request(self) -> bytes:
        """The next request, made when it is about to be sent; the same one until it is answered."""
        ...

    def answered(self, status: int) -> float | None:
        """Take the status of the request, 0 if there was no answer in time.

        The seconds until the next request, or ``None`` if there is none.
        """
        ...


@dataclass(slots=True)
class _Busy:
    exchange: HttpExchange
    began: float


@dataclass(slots=True)
class _Work:
    """What is left to do in one run."""

    ready: deque[HttpExchange]
    later: list[tuple[float, int, HttpExchange]] = field(default_factory=list)
    order: itertools.count[int] = field(default_factory=itertools.count)

    def answered(self, exchange: HttpExchange, status: int) -> None:
        pause = exchange.answered(status)
        if pause is not None:
            heapq.heappush(self.later, (time.monotonic() + pause, next(self.order), exchange))

    def wake(self, now: float) -> None:
        while self.later and self.later[0][0] <= now:
            self.ready.append(heapq.heappop(self.later)[2])


class ConnectionPool:
    """Up to ``most`` connections that are kept from one :meth:`run` to the next. Not for several threads.

    A request may take ``each`` seconds. Where only requests are left that are under way, each of them has ``patience``
    seconds: the slowest must not hold up what comes next.
    """

    def __init__(self, target: Target, most: int = 32, each: float = 2.0, patience: float = 1.0) -> None:
        self._target = target
        self._most = most
        self._each = each
        self._patience = patience
        self._selector = selectors.DefaultSelector()
        self._idle: list[tuple[HttpConnection, float]] = []
        self._busy: dict[HttpConnection, _Busy] = {}  # in the order in which they began
        self._known: dict[HttpConnection, int] = {}

    def run(self, exchanges: Iterable[HttpExchange], seconds: float) -> None:
        """Carry out all of ``exchanges``, as many at once as there are connections, in at most ``seconds``."""
        work = _Work(deque(exchanges))
        now = time.monotonic()
        deadline = now + seconds
        while (work.ready or work.later or self._busy) and now < deadline:
            work.wake(now)
            while work.ready and len(self._busy) < self._most:
                self._begin(work, now)
            limit = self._each if work.ready or work.later else self._patience
            oldest = next(iter(self._busy.values())).began + limit if self._busy else math.inf
            until = min(deadline, oldest, work.later[0][0] if work.later else math.inf)
            for key, mask in self._selector.select(max(0.0, until - now)):
                self._step(key.data, work, bool(mask & selectors.EVENT_READ))
            now = time.monotonic()
            self._give_up(work, now - limit)
        self._give_up(work, math.inf)
        for exchange in [*work.ready, *(each for _, _, each in work.later)]:
            exchange.answered(0)

    def _begin(self, work: _Work, now: float) -> None:
        exchange = work.ready.popleft()
        request = exchange.request()
        try:
            lane = self._lane()
        except OSError:
            work.answered(exchange, 0)
            return
        self._busy[lane] = _Busy(exchange, now)
        try:
            lane.send(request)
        except OSError:
            self._lost(lane, work)
        else:
            self._watch(lane)

    def _lane(self) -> HttpConnection:
        while self._idle:
            lane, since = self._idle.pop()
            if 0 <= time.time() - since < IDLE_SECONDS:
                return lane
            self._drop(lane)
        return HttpConnection(self._target)

    def _step(self, lane: HttpConnection, work: _Work, readable: bool) -> None:
        busy = self._busy.get(lane)
        try:
            status = lane.step(readable=readable)
        except OSError:
            self._lost(lane, work)
            return
        if status is None or busy is None:
            self._watch(lane)
            return
        del self._busy[lane]
        if lane.keeps:
            self._idle.append((lane, time.time()))
        else:
            self._drop(lane)
        work.answered(busy.exchange, status)

    def _lost(self, lane: HttpConnection, work: _Work) -> None:
        self._drop(lane)
        busy = self._busy.pop(lane, None)
        if busy is None:
            self._idle = [(each, since) for each, since in self._idle if each is not lane]
        elif lane.used:
            # The other side may have ended it before the request came: that is no answer to the request.
            work.ready.appendleft(busy.exchange)
        else:
            work.answered(busy.exchange, 0)

    def _give_up(self, work: _Work, began_before: float) -> None:
        while self._busy:
            lane, busy = next(iter(self._busy.items()))
            if busy.began > began_before:
                return
            del self._busy[lane]
            self._drop(lane)
            work.answered(busy.exchange, 0)

    def _watch(self, lane: HttpConnection) -> None:
        known = self._known.get(lane)
        if known is None:
            self._selector.register(lane.fileno(), lane.waits_for, lane)
        elif known != lane.waits_for:
            self._selector.modify(lane.fileno(), lane.waits_for, lane)
        self._known[lane] = lane.waits_for

    def _drop(self, lane: HttpConnection) -> None:
        if self._known.pop(lane, None) is not None:
            self._selector.unregister(lane.fileno())
        lane.close()

    def close(self) -> None:
        """Let all connections go."""
        for lane in [*self._busy, *(lane for lane, _ in self._idle)]:
            self._drop(lane)
        self._busy.clear()
        self._idle.clear()
        self._selector.close()
