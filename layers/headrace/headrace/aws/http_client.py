"""Sends requests to one host over kept connections, for any number of threads: each call waits for its response.

Why not http.client or urllib3: they import 20 to 80 ms of modules, and need a multiple of the CPU per request.
"""

from __future__ import annotations

import select
import threading
import time
import weakref
from dataclasses import dataclass
from selectors import EVENT_READ

from headrace.aws.http_connection import HttpConnection, Target

IDLE_SECONDS = 60.0
"""How long an idle connection may be used again, by the wall clock, which continues while Lambda freezes the
environment. AWS's SDK for Java has the same limit."""


@dataclass(frozen=True, slots=True)
class Response:
    """A complete response; ``head`` is the status line and the headers, in lower case."""

    status: int
    head: bytes
    body: bytes


class HttpClient:
    """Connections to ``target``, of which up to ``most`` are kept. Opening one may take ``connect_seconds``."""

    def __init__(self, target: Target, most: int = 10, connect_seconds: float = 1.0) -> None:
        self._target = target
        self._most = most
        self._connect_seconds = connect_seconds
        self._idle: list[tuple[HttpConnection, float]] = []
        self._lock = threading.Lock()
        weakref.finalize(self, _close, self._idle)

    def send(self, request: bytes, seconds: float, *, repeatable: bool) -> Response:
        """The response to ``request``, at most ``seconds`` after it began to be sent.

        A kept connection may have been closed by the other side before the request arrived. A ``repeatable`` request
        is then sent again over a new one; any other may have been executed, so the caller decides.

        Raises:
            OSError: there is no connection, or no complete response in time.
        """
        connection = self._kept()
        if connection is not None:
            try:
                return self._exchange(connection, request, seconds)
            except TimeoutError:
                raise
            except OSError:
                if not repeatable or connection.has_received:
                    raise
        return self._exchange(self._opened(), request, seconds)

    def _kept(self) -> HttpConnection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection, since = self._idle.pop()
            # An idle connection is readable when the other side has closed it.
            if 0 <= time.time() - since < IDLE_SECONDS and not _is_ready(connection, select.POLLIN, 0):
                return connection
            connection.close()

    def _opened(self) -> HttpConnection:
        """A new connection: to the first address that accepts it."""
        deadline = time.monotonic() + self._connect_seconds
        tried = 0
        while True:
            connection = HttpConnection(self._target)
            tried += 1
            try:
                while not connection.is_open:
                    _wait(connection, deadline)
                    connection.step(readable=False)
            except OSError:
                connection.close()
                if tried >= self._target.addresses or time.monotonic() >= deadline:
                    raise
            else:
                return connection

    def _exchange(self, connection: HttpConnection, request: bytes, seconds: float) -> Response:
        deadline = time.monotonic() + seconds
        try:
            connection.send(request)
            status = None
            while status is None:
                _wait(connection, deadline)
                status = connection.step(readable=connection.waits_for == EVENT_READ)
        except BaseException:
            connection.close()
            raise
        response = Response(status, connection.head, connection.body)
        connection.forget()
        with self._lock:
            is_kept = connection.keeps and len(self._idle) < self._most
            if is_kept:
                self._idle.append((connection, time.time()))
        if not is_kept:
            connection.close()
        return response


def _close(idle: list[tuple[HttpConnection, float]]) -> None:
    while idle:
        idle.pop()[0].close()


def _wait(connection: HttpConnection, deadline: float) -> None:
    event = select.POLLIN if connection.waits_for == EVENT_READ else select.POLLOUT
    if not _is_ready(connection, event, max(0.0, deadline - time.monotonic())):
        raise TimeoutError("no response in time")


def _is_ready(connection: HttpConnection, event: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), event)
    return bool(poll.poll(1000 * seconds))
