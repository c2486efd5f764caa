"""Sends the hot calls of a client, Query and BatchWriteItem, over kept connections, and decodes their answers.

boto3 still serializes, signs and retries them. Between, it would take several times the CPU to send a request and to
parse rows that are decoded again. The event ``before-send`` is botocore's documented place for another way to send.
"""

from __future__ import annotations

import functools
import json
import select
import socket
import ssl
import threading
import time
import weakref
from collections import deque
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

from botocore import exceptions
from botocore.awsrequest import AWSResponse

from headrace.runtime.aws import AwsClient, ca_bundle, has_proxy

OK = 200
IDLE_SECONDS = 60.0
"""How long an idle connection may be used again, by the wall clock, which continues while Lambda freezes the
environment. Meanwhile the other side may close it without a trace here, and a call has only one more attempt."""


class DirectCalls:
    """The hot calls of ``client``; with a proxy, they take boto3's way. Thread-safe, as the client is."""

    def __init__(self, client: AwsClient) -> None:
        self._client = client
        self._url = client.meta.endpoint_url
        self._connections = _Connections(self._url, client.meta.config)
        self._call = _Call()
        if not has_proxy(client):
            client.meta.events.register("before-send.dynamodb.Query", self._send)
            client.meta.events.register("before-send.dynamodb.BatchWriteItem", self._send)

    def query(self, **parameters: Any) -> dict[str, Any]:
        """One page, as the client's ``query`` returns it, but binary values stay base64."""
        return self._answer(self._client.query, parameters)

    def batch_write_item(self, **parameters: Any) -> dict[str, Any]:
        """What was not written, as the client's ``batch_write_item`` returns it."""
        return self._answer(self._client.batch_write_item, parameters)

    def _answer(self, operation: Any, parameters: dict[str, Any]) -> dict[str, Any]:
        self._call.is_direct, self._call.answer = True, {}
        try:
            answer: dict[str, Any] = operation(**parameters)
            return answer | self._call.answer
        finally:
            self._call.is_direct, self._call.answer = False, {}

    def _send(self, request: Any, **_: Any) -> AWSResponse | None:
        if not self._call.is_direct:  # the client has other users
            return None
        try:
            got, body = self._connections.exchange(_encoded(request))
            if got.status == OK:
                self._call.answer, body = json.loads(body), b"{}"
        except TimeoutError as error:
            raise exceptions.ReadTimeoutError(endpoint_url=self._url, error=error) from error
        except (OSError, HTTPException, ValueError) as error:
            raise exceptions.ConnectionClosedError(endpoint_url=self._url, error=error) from error
        # The checksum is that of the body which is decoded above.
        headers: Any = {name: value for name, value in got.headers.items() if name.lower() != "x-amz-crc32"}
        return AWSResponse(request.url, got.status, headers, _Body(body))


class _Call(threading.local):
    """The call of this thread: whether it takes the direct way, and its decoded answer."""

    def __init__(self) -> None:
        self.is_direct = False
        self.answer: dict[str, Any] = {}


class _Body(BytesIO):
    def stream(self) -> list[bytes]:
        """All of it, as boto3 reads it."""
        return [self.read()]


def _encoded(request: Any) -> bytes:
    """The bytes of a signed request, for one send: http.client would send the head and the body apart."""
    lines = [f"POST / HTTP/1.1\r\nHost: {urlsplit(request.url).netloc}"]
    for name, value in request.headers.items():
        lines.append(f"{name}: {value.decode() if isinstance(value, bytes) else value}")
    return "\r\n".join([*lines, "\r\n"]).encode() + bytes(request.body)


@functools.cache
def _tls(cafile: str | None) -> ssl.SSLContext:
    # One for all clients: loading the certificates takes 17 ms of CPU.
    return ssl.create_default_context(cafile=cafile)


class _Connections:
    """Kept connections to the endpoint ``url``, with the timeouts and the number that a client's ``config`` says."""

    def __init__(self, url: str, config: Any) -> None:
        parts = urlsplit(url)
        self._host = str(parts.hostname)
        self._port = parts.port
        self._context = _tls(ca_bundle()) if parts.scheme == "https" else None
        self._config = config
        self._idle: deque[tuple[HTTPConnection, float]] = deque()
        """Connections, each with the time of its last response."""
        weakref.finalize(self, _close, self._idle)

    def exchange(self, request: bytes) -> tuple[HTTPResponse, bytes]:
        """The response to ``request``, and the body of the response.

        Raises:
            OSError, HTTPException: there is no complete response in time.
        """
        connection = self._connection()
        try:
            connection.sock.sendall(request)
            response = HTTPResponse(connection.sock, method="POST")
            response.begin()
            body = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close or len(self._idle) >= self._config.max_pool_connections:
            connection.close()
        else:
            self._idle.append((connection, time.time()))
        return response, body

    def _connection(self) -> HTTPConnection:
        while self._idle:
            with suppress(IndexError):  # another thread took it
                connection, since = self._idle.pop()
                # It is readable when the other side has closed it.
                if 0 <= time.time() - since < IDLE_SECONDS and not _is_readable(connection.sock):
                    return connection
                connection.close()
        seconds = self._config.connect_timeout
        connection = (
            HTTPSConnection(self._host, self._port, timeout=seconds, context=self._context)
            if self._context
            else HTTPConnection(self._host, self._port, timeout=seconds)
        )
        connection.connect()
        connection.sock.settimeout(self._config.read_timeout)
        return connection


def _close(idle: deque[tuple[HTTPConnection, float]]) -> None:
    while idle:
        idle.pop()[0].close()


def _is_readable(sock: socket.socket) -> bool:
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
