"""A non-blocking HTTP connection that is kept: sends a request and reads the status of its response."""

from __future__ import annotations

import functools
import itertools
import socket
import ssl
import time
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any
from urllib.parse import urlsplit

HEAD_LIMIT = 64 * 1024
CHUNK = 64 * 1024
ADDRESS_SECONDS = 30.0
"""How long a host's addresses are used until they are resolved again."""


@functools.cache
def _system_context() -> ssl.SSLContext:
    # One for all hosts: loading the system's certificates takes several ms.
    return ssl.create_default_context()


class Target:
    """A host to connect to. With ``https`` its certificate is verified by ``context``, by default the system's."""

    def __init__(self, url: str, context: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._context = (context or _system_context()) if parts.scheme == "https" else None
        self._addresses: list[Any] = []
        self._known_until = float("-inf")
        self._turn = itertools.count()

    def connect(self) -> socket.socket:
        """A socket with a pending connection, to each address of the host in turn.

        Raises:
            OSError: the host has no address, or refuses at once.
        """
        if time.monotonic() >= self._known_until:
            self._addresses = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
            self._known_until = time.monotonic() + ADDRESS_SECONDS
        addresses = self._addresses
        family, kind, protocol, _, address = addresses[next(self._turn) % len(addresses)]
        made = socket.socket(family, kind, protocol)
        try:
            made.setblocking(False)
            # Without it, the body of a request waits up to 40 ms for the acknowledgement of its head.
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            made.connect_ex(address)
        except OSError:
            made.close()
            raise
        return made

    def secure(self, connected: socket.socket) -> socket.socket:
        """``connected`` with TLS if the URL is https, before the handshake."""
        if self._context is None:
            return connected
        return self._context.wrap_socket(connected, server_hostname=self._host, do_handshake_on_connect=False)


class HttpConnection:
    """A connection to ``target``. Its socket must be ready for the event ``waits_for`` before the next :meth:`step`."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._socket = target.connect()
        self._connected = False
        self._out = memoryview(b"")
        self._in = bytearray()
        self.is_open = False
        """Whether it is connected, with TLS if the URL is https."""
        self.waits_for = EVENT_WRITE
        self.used = False
        """Whether it had a response before: then the other side may have closed it before the next request."""
        self.keeps = True
        """Whether it can be used for another request."""

    def fileno(self) -> int:
        """The file descriptor of its socket, which never changes."""
        return self._socket.fileno()

    def send(self, request: bytes) -> None:
        """Send as much of ``request`` as the socket accepts; :meth:`step` sends the rest.

        Raises:
            OSError: the connection is closed.
        """
        self._out = memoryview(request)
        self._in.clear()
        if self.is_open:
            self.step(readable=False)

    def step(self, *, readable: bool) -> int | None:
        """Send and receive without waiting; returns the status once the whole response is received.

        Raises:
            OSError: the connection is closed, or the response is not HTTP.
        """
        try:
            if not self.is_open:
                self._open()
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

    def _open(self) -> None:
        if not self._connected:
            error = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if error:
                raise OSError(error, "cannot connect")
            self._connected = True
            self._socket = self._target.secure(self._socket)
        if isinstance(self._socket, ssl.SSLSocket):
            self._socket.do_handshake()
        self.is_open = True

    def _status(self) -> int | None:
        while True:
            end = self._in.find(b"\r\n\r\n")
            if end < 0:
                if len(self._in) > HEAD_LIMIT:
                    raise ConnectionAbortedError("the head of a response is too long")
                return None
            head = bytes(self._in[: end + 2]).lower()
            if not head.startswith(b"http/1.") or not head[9:12].isdigit():
                raise ConnectionAbortedError("not an HTTP response")
            status = int(head[9:12])
            if status >= 200:
                break
            del self._in[: end + 4]  # 1xx: the response follows
        length = _content_length(head)
        if len(self._in) - end - 4 < (length or 0):
            return None
        # A body in chunks has no length: the connection is closed instead of read to the end of the response.
        self.keeps = (length is not None or status in (204, 304)) and b"\r\nconnection: close\r\n" not in head
        return status

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def _content_length(head: bytes) -> int | None:
    at = head.find(b"\r\ncontent-length:")
    if at < 0:
        return None
    value = head[at + 17 : head.index(b"\r\n", at + 2)].strip()
    if not value.isdigit():
        raise ConnectionAbortedError("not an HTTP response")
    return int(value)
