"""A non-blocking HTTP connection that is kept: sends a request and reads the status of its response."""

from __future__ import annotations

import random
import re
import socket
import ssl
from selectors import EVENT_READ, EVENT_WRITE
from urllib.parse import urlsplit

from headrace.runtime.aws import tls_context

HEAD_LIMIT = 64 * 1024
CHUNK = 64 * 1024
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d{1,9})\r\n", re.IGNORECASE)


class HttpConnection:
    """A connection to the host of ``url``, whose certificate is verified.

    Its socket must be ready for the event ``waits_for`` before the next :meth:`step`.

    Raises:
        OSError: the host has no address.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        is_secure, host = parts.scheme == "https", str(parts.hostname)
        found = socket.getaddrinfo(host, parts.port or (443 if is_secure else 80), type=socket.SOCK_STREAM)
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
        if self._is_open:
            self.step(readable=False)

    def step(self, *, readable: bool) -> int | None:
        """Send and receive without waiting; returns the status once the whole response is received.

        Raises:
            OSError: the connection is closed, or the response is not HTTP.
        """
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
        end = self._in.find(b"\r\n\r\n") + 4
        if end < 4:
            if len(self._in) > HEAD_LIMIT:
                raise ConnectionAbortedError("the head of a response is too long")
            return None
        head = bytes(self._in[:end])
        status, length = _STATUS.match(head), _LENGTH.search(head)
        if status is None:
            raise ConnectionAbortedError("not an HTTP response")
        if length and len(self._in) - end < int(length[1]):
            return None
        # A response without a length ends with its connection, or is in chunks: API Gateway sends neither.
        self.keeps = length is not None and b"\r\nconnection: close\r\n" not in head.lower()
        return int(status[1])

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
