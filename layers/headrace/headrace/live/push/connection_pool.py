"""Sends many small HTTP requests to one host in parallel: over kept connections, in one thread.

Why not urllib3: it takes at least eight times the CPU for such a request, and one thread for each request in flight
(``make bench BENCH=live`` prints the CPU of both). Here only the status of a response is read. Responses without
Content-Length are handled by closing the connection.
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

from headrace.live.push.http_connection import HttpConnection

IDLE_SECONDS = 20.0
"""How long an idle connection may be used again, because a load balancer drops it after some time. By the wall clock,
which continues while Lambda freezes the environment."""


class HttpExchange(Protocol):
    """A sequence of requests."""

    def request(self) -> bytes:
        """The next request, or the current one if it must be sent again. Called just before it is sent."""

    def answered(self, status: int) -> float | None:
        """Called with the response's status, 0 if there was none in time.

        Returns the seconds until the next request, or ``None`` if there is none.
        """


@dataclass(slots=True)
class _Busy:
    exchange: HttpExchange
    began: float


@dataclass(slots=True)
class _Work:
    """The exchanges of one run that wait to be sent: now, or ``later`` at a time."""

    ready: deque[HttpExchange]
    later: list[tuple[float, int, HttpExchange]] = field(default_factory=list)
    order: itertools.count[int] = field(default_factory=itertools.count)

    def answered(self, exchange: HttpExchange, status: int) -> None:
        pause = exchange.answered(status)
        if pause == 0:
            # Its next request goes first: at the deadline, few exchanges are incomplete.
            self.ready.appendleft(exchange)
        elif pause is not None:
            heapq.heappush(self.later, (time.monotonic() + pause, next(self.order), exchange))

    def wake(self, now: float) -> None:
        while self.later and self.later[0][0] <= now:
            self.ready.append(heapq.heappop(self.later)[2])


class ConnectionPool:
    """Up to ``most`` connections to the host of ``url``, kept from one :meth:`run` to the next. Not thread-safe.

    A request may take ``each`` seconds. When all requests are sent, those in flight have only ``patience`` seconds,
    so that a slow one does not delay the next run.
    """

    def __init__(self, url: str, most: int = 32, each: float = 2.0, patience: float = 1.0) -> None:
        self._url = url
        self._most = most
        self._each = each
        self._patience = patience
        self._selector = selectors.DefaultSelector()
        self._idle: list[tuple[HttpConnection, float]] = []
        self._busy: dict[HttpConnection, _Busy] = {}  # in the order in which they began
        self._known: dict[HttpConnection, int] = {}

    def run(self, exchanges: Iterable[HttpExchange], seconds: float) -> None:
        """Run all ``exchanges``, as many in parallel as there are connections, in at most ``seconds``."""
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
            connection = self._connection()
        except OSError:
            work.answered(exchange, 0)
            return
        self._busy[connection] = _Busy(exchange, now)
        try:
            connection.send(request)
        except OSError:
            self._lost(connection, work)
        else:
            self._watch(connection)

    def _connection(self) -> HttpConnection:
        while self._idle:
            connection, since = self._idle.pop()
            if 0 <= time.time() - since < IDLE_SECONDS:
                return connection
            self._drop(connection)
        return HttpConnection(self._url)

    def _step(self, connection: HttpConnection, work: _Work, readable: bool) -> None:
        busy = self._busy.get(connection)
        try:
            status = connection.step(readable=readable)
        except OSError:
            self._lost(connection, work)
            return
        if status is None or busy is None:
            self._watch(connection)
            return
        del self._busy[connection]
        if connection.keeps:
            self._idle.append((connection, time.time()))
        else:
            self._drop(connection)
        work.answered(busy.exchange, status)

    def _lost(self, connection: HttpConnection, work: _Work) -> None:
        self._drop(connection)
        busy = self._busy.pop(connection, None)
        if busy is None:
            self._idle = [(each, since) for each, since in self._idle if each is not connection]
        elif connection.used:
            # The other side may have closed it before the request arrived, so the request is sent again.
            work.ready.appendleft(busy.exchange)
        else:
            work.answered(busy.exchange, 0)

    def _give_up(self, work: _Work, began_before: float) -> None:
        while self._busy:
            connection, busy = next(iter(self._busy.items()))
            if busy.began > began_before:
                return
            del self._busy[connection]
            self._drop(connection)
            work.answered(busy.exchange, 0)

    def _watch(self, connection: HttpConnection) -> None:
        known = self._known.get(connection)
        if known is None:
            self._selector.register(connection.fileno(), connection.waits_for, connection)
        elif known != connection.waits_for:
            self._selector.modify(connection.fileno(), connection.waits_for, connection)
        self._known[connection] = connection.waits_for

    def _drop(self, connection: HttpConnection) -> None:
        if self._known.pop(connection, None) is not None:
            self._selector.unregister(connection.fileno())
        connection.close()

    def close(self) -> None:
        """Close all connections."""
        for connection in [*self._busy, *(connection for connection, _ in self._idle)]:
            self._drop(connection)
        self._busy.clear()
        self._idle.clear()
        self._selector.close()
