"""The Runtime API that awslambdaric calls: a small HTTP/1.1 server, one TCP listener per environment.

Two requests pass here for every event, so this is a bare ``asyncio.Protocol``. Each environment has its own port, and
a key before every path: the port answers any process of the machine, but only the environment's process knows the key.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from typing import Protocol, cast

from localstage.functions.payloads import MAX_RESPONSE

# awslambdaric sends a failure's stack trace as a header of up to 1 MB.
_MAX_HEAD = 2 * 1024 * 1024
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,12})[ \t]*\r\n", re.IGNORECASE)
_PREFIX = b"/2018-06-01/runtime/"
_INVOCATION = _PREFIX + b"invocation/"
_NEXT = _INVOCATION + b"next"
_INIT_ERROR = _PREFIX + b"init/error"


def _plain(status: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


ACCEPTED = _plain(b"202 Accepted", b'{"status":"OK"}')
TOO_LARGE = _plain(
    b"413 Request Entity Too Large",
    b'{"errorType":"RequestEntityTooLarge","errorMessage":"Exceeded maximum allowed payload size (%d bytes)."}'
    % MAX_RESPONSE,
)
INVALID_REQUEST_ID = _plain(b"400 Bad Request", b'{"errorType":"InvalidRequestID","errorMessage":"Invalid request ID"}')
_FORBIDDEN = _plain(b"403 Forbidden", b'{"errorType":"Forbidden","errorMessage":"not the process of this environment"}')
_NOT_FOUND = _plain(b"404 Not Found", b'{"errorType":"NotFound","errorMessage":"no such path"}')


class Runtime(Protocol):
    """What an environment does with the calls of its process. Answers are whole HTTP responses."""

    def connected(self, connection: Connection) -> None: ...

    def disconnected(self, connection: Connection) -> None: ...

    def ask_next(self, connection: Connection) -> None: ...

    def answer(self, request_id: str, payload: bytes | None, *, failed: bool) -> bytes:
        """Take the answer to an event; ``payload`` is ``None`` when it was over Lambda's limit."""
        ...

    def fail_init(self, payload: bytes) -> bytes: ...


def next_event(request_id: str, deadline_ms: int, arn: str, trace: str, event: bytes) -> bytes:
    """The HTTP response that hands ``event`` to the process."""
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        f"Lambda-Runtime-Aws-Request-Id: {request_id}\r\nLambda-Runtime-Deadline-Ms: {deadline_ms}\r\n"
        f"Lambda-Runtime-Invoked-Function-Arn: {arn}\r\nLambda-Runtime-Trace-Id: {trace}\r\n"
        f"Content-Length: {len(event)}\r\n\r\n"
    )
    return head.encode("latin-1") + event


async def serve(runtime: Runtime) -> tuple[asyncio.Server, str]:
    """Listen on a free port for the process of ``runtime``.

    Returns:
        The server, and ``host:port/key``, the value of the process's ``AWS_LAMBDA_RUNTIME_API``.

    Raises:
        OSError: no port is left.
    """
    key = secrets.token_urlsafe(16)
    server = await asyncio.get_running_loop().create_server(lambda: Connection(runtime, key), "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    return server, f"{host}:{port}/{key}"


class Connection(asyncio.Protocol):
    """One connection of one environment's process; ``key`` begins the path of its requests."""

    def __init__(self, runtime: Runtime, key: str) -> None:
        self._runtime = runtime
        self._start = f"/{key}".encode()
        self._buffer = bytearray()
        self._target: bytes | None = None  # of the request whose body is being read
        self._length = 0
        self._dropped = 0  # bytes of an oversized body that were read and discarded
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # No isinstance check: uvloop's transports do not derive from asyncio's classes.
        self._transport = cast(asyncio.Transport, transport)
        self._runtime.connected(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  (asyncio's signature)
        self._transport = None
        self._runtime.disconnected(self)

    def send(self, response: bytes) -> None:
        """Write a whole response, unless the process has ended."""
        if self._transport is not None:
            self._transport.write(response)

    def abort(self) -> None:
        """Drop the connection without waiting for the process."""
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while self._transport is not None:
            if self._target is None and not self._read_head():
                return
            if not self._read_body():
                return

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _MAX_HEAD:
                self.abort()
            return False
        head = bytes(self._buffer[: end + 2])
        del self._buffer[: end + 4]
        line = head[: head.index(b"\r\n")].split(b" ")
        length = None if line[0] == b"GET" else _LENGTH.search(head)
        if len(line) != 3 or (line[0] == b"POST" and length is None):
            self.abort()
            return False
        self._target = line[1]
        self._length = int(length[1]) if length else 0
        self._dropped = 0
        return True

    def _read_body(self) -> bool:
        have = len(self._buffer)
        if self._length > MAX_RESPONSE:
            take = min(have, self._length - self._dropped)
            del self._buffer[:take]
            self._dropped += take
            if self._dropped < self._length:
                return False
            body = None
        elif have < self._length:
            return False
        else:
            body = bytes(self._buffer[: self._length])
            del self._buffer[: self._length]
        target, self._target = self._target, None
        self._serve(target or b"", body)
        return True

    def _serve(self, target: bytes, body: bytes | None) -> None:
        start, path = target[: len(self._start)], target[len(self._start) :]
        if not hmac.compare_digest(start, self._start):
            self.send(_FORBIDDEN)
        elif path == _NEXT:
            self._runtime.ask_next(self)
        elif path == _INIT_ERROR:
            self.send(self._runtime.fail_init(body or b"{}"))
        elif path.startswith(_INVOCATION):
            request_id, _, verb = path[len(_INVOCATION) :].partition(b"/")
            if verb in (b"response", b"error"):
                self.send(self._runtime.answer(request_id.decode("latin-1"), body, failed=verb == b"error"))
            else:
                self.send(_NOT_FOUND)
        else:
            self.send(_NOT_FOUND)
