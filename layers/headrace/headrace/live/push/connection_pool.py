"""Sends many small HTTP requests to one host in parallel: over kept connections, in one thread.

Why not urllib3: it takes at least eight times the CPU for such a request, and one thread for each request in flight
(``make bench BENCH=live`` prints the CPU of both). Here only the status of a response is read. Responses without
Content-Length are handled by closing the connection.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
import re
import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, Protocol
from urllib.parse import urlsplit

from headrace.runtime.aws import tls_context
from headrace.runtime.http_fields import content_length, http_fields, is_last

IDLE_SECONDS = 20.0
"""How long an idle connection may be used again, because a load balancer drops it after some time. By the wall clock,
which continues while Lambda freezes the environment."""
HEAD_LIMIT = 64 * 1024
BODY_LIMIT = 64 * 1024
"""Bytes of a longer body are not waited for."""
CHUNK = 64 * 1024
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")


Resolve = Callable[[str, int], Sequence[tuple[Any, ...]]]
"""The addresses of a host and port, as ``socket.getaddrinfo`` gives them."""


def resolve(host: str, port: int) -> Sequence[tuple[Any, ...]]:
    """All addresses of a host."""
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


class HttpExchange(Protocol):
    """A sequence of requests."""

    def request(self) -> bytes:
        """The next request, or the current one if it must be sent again. Called just before it is sent."""

    def answered(self, status: int, fields: Mapping[str, str]) -> float | None:
        """Called with the response's status, 0 if there was none in time, and with its header fields.

        Returns the seconds until the next request, or ``None`` if there is none.
        """


class ConnectionPool:
    """Up to ``most`` connections to the host of ``url``, kept from one :meth:`run` to the next. Not thread-safe.

    A request may take ``each`` seconds. When all requests are sent, those in flight have only ``patience`` seconds,
    so that a slow one does not delay the next run. Connections are opened to the addresses that ``resolve`` gives.
    """

    def __init__(
        self, url: str, most: int = 32, each: float = 2.0, patience: float = 1.0, resolve: Resolve = resolve
    ) -> None:
        self._url = url
        self._resolve = resolve
        self._most = most
        self._each = each
        self._patience = patience
        self._selector = selectors.DefaultSelector()
        self._ready: deque[HttpExchange] = deque()
        self._later: list[tuple[float, int, HttpExchange]] = []
        self._order = itertools.count()
        self._idle: list[tuple[HttpConnection, float]] = []
        # Each with the time at which its request began, in the order of these times.
        self._busy: dict[HttpConnection, tuple[HttpExchange, float]] = {}
        self._known: dict[HttpConnection, int] = {}

    def run(self, exchanges: Iterable[HttpExchange], seconds: float) -> None:
        """Run all ``exchanges``, as many in parallel as there are connections, in at most ``seconds``."""
        self._ready, self._later = deque(exchanges), []
        now = time.monotonic()
        deadline = now + seconds
        while (self._ready or self._later or self._busy) and now < deadline:
            while self._later and self._later[0][0] <= now:
                self._ready.append(heapq.heappop(self._later)[2])
            while self._ready and len(self._busy) < self._most:
                self._begin(now)
            limit = self._each if self._ready or self._later else self._patience
            oldest = next(iter(self._busy.values()))[1] + limit if self._busy else math.inf
            until = min(deadline, oldest, self._later[0][0] if self._later else math.inf)
            for key, mask in self._selector.select(max(0.0, until - now)):
                self._step(key.data, bool(mask & EVENT_READ))
            now = time.monotonic()
            self._give_up(now - limit)
        self._give_up(math.inf)
        for exchange in [*self._ready, *(each for _, _, each in self._later)]:
            exchange.answered(0, {})

    def _begin(self, now: float) -> None:
        exchange = self._ready.popleft()
        request = exchange.request()
        try:
            connection = self._connection()
        except OSError:
            self._answered(exchange, 0, {})
            return
        self._busy[connection] = exchange, now
        try:
            connection.send(request)
        except OSError:
            self._lost(connection)
        else:
            self._watch(connection)

    def _answered(self, exchange: HttpExchange, status: int, fields: Mapping[str, str]) -> None:
        pause = exchange.answered(status, fields)
        if pause == 0:
            # Its next request goes first: at the deadline, few exchanges are incomplete.
            self._ready.appendleft(exchange)
        elif pause is not None:
            heapq.heappush(self._later, (time.monotonic() + pause, next(self._order), exchange))

    def _connection(self) -> HttpConnection:
        while self._idle:
            connection, since = self._idle.pop()
            if 0 <= time.time() - since < IDLE_SECONDS:
                return connection
            self._drop(connection)
        return HttpConnection(self._url, self._resolve)

    def _step(self, connection: HttpConnection, readable: bool) -> None:
        try:
            status = connection.step(readable=readable)
        except OSError:
            self._lost(connection)
            return
        if status is None or connection not in self._busy:
            self._watch(connection)
            return
        exchange, _ = self._busy.pop(connection)
        if connection.keeps:
            self._idle.append((connection, time.time()))
        else:
            self._drop(connection)
        self._answered(exchange, status, connection.fields)

    def _lost(self, connection: HttpConnection) -> None:
        self._drop(connection)
        if connection not in self._busy:
            self._idle = [(each, since) for each, since in self._idle if each is not connection]
            return
        exchange, _ = self._busy.pop(connection)
        if connection.used:
            # The other side may have closed it before the request arrived, so the request is sent again.
            self._ready.appendleft(exchange)
        else:
            self._answered(exchange, 0, {})

    def _give_up(self, began_before: float) -> None:
        while self._busy:
            connection, (exchange, began) = next(iter(self._busy.items()))
            if began > began_before:
                return
            del self._busy[connection]
            self._drop(connection)
            self._answered(exchange, 0, {})

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


class HttpConnection:
    """A connection to the host of ``url``, whose certificate is verified.

    Its socket must be ready for the event ``waits_for`` before the next :meth:`step`. Every method may raise OSError:
    the host has no address, the connection is closed, or a response is not HTTP.
    """

    def __init__(self, url: str, resolve: Resolve = resolve) -> None:
        parts = urlsplit(url)
        is_secure, host = parts.scheme == "https", str(parts.hostname)
        found = resolve(host, parts.port or (443 if is_secure else 80))
        family, kind, protocol, _, address = random.choice(found)  # noqa: S311
        self._socket = socket.socket(family, kind, protocol)
        self._socket.setblocking(False)
        # Without it, the end of a long request waits up to 40 ms for an acknowledgement.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if is_secure:
            wrap = tls_context().wrap_socket
            self._socket = wrap(self._socket, server_hostname=host, do_handshake_on_connect=False)
        self._socket.connect_ex(address)  # an error is raised by the first send, or handshake
        self._is_open = False
        self._out = memoryview(b"")
        self._in = bytearray()
        self.fields: Mapping[str, str] = {}
        """The header fields of the last response."""
        self.waits_for = EVENT_WRITE
        self.used = False
        """Whether it had a response before: then the other side may have closed it before the next request."""
        self.keeps = True
        """Whether it can be used for another request."""

    def fileno(self) -> int:
        """The file descriptor of its socket, which never changes."""
        return self._socket.fileno()

    def send(self, request: bytes) -> None:
        """Send as much of ``request`` as the socket accepts; :meth:`step` sends the rest."""
        self._out = memoryview(request)
        self._in.clear()
        if self._is_open:
            self.step(readable=False)

    def step(self, *, readable: bool) -> int | None:
        """Send and receive without waiting; returns the status once the whole response is received."""
        try:
            if not self._is_open and isinstance(self._socket, ssl.SSLSocket):
                self._socket.do_handshake()
            self._is_open = True
            self.waits_for = EVENT_WRITE
            while self._out:
                self._out = self._out[self._socket.send(self._out) :]
            self.waits_for = EVENT_READ
            while readable:
                chunk = self._socket.recv(CHUNK)
                if not chunk:
                    raise ConnectionResetError("closed by the other side")
                self._in += chunk
                status = self._status()
                if status is not None:
                    self.used = True
                    return status
        except ssl.SSLWantReadError:
            self.waits_for = EVENT_READ
        except ssl.SSLWantWriteError:
            self.waits_for = EVENT_WRITE
        except BlockingIOError:
            pass
        return None

    def _status(self) -> int | None:
        begin, end = 0, self._in.find(b"\r\n\r\n") + 4
        while end >= 4 and self._in.startswith(b"HTTP/1.1 1", begin):  # another response follows
            begin, end = end, self._in.find(b"\r\n\r\n", end) + 4
        if end < 4:
            if len(self._in) > HEAD_LIMIT:
                raise ConnectionAbortedError("the head of a response is too long")
            return None
        head = bytes(self._in[begin:end])
        status = _STATUS.match(head)
        if status is None:
            raise ConnectionAbortedError("not an HTTP response")
        self.fields = http_fields(head)
        length = content_length(self.fields)
        is_short = length is not None and length <= BODY_LIMIT
        if length is not None and is_short and len(self._in) - end < length:
            return None
        # A response without a length ends with its connection, or is in chunks: API Gateway sends neither.
        self.keeps = is_short and not is_last(self.fields)
        return int(status[1])

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
