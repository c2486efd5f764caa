"""Sends the hot calls of a client, Query and BatchWriteItem, over kept connections, and decodes their answers.

boto3 still signs and retries them. It would take several times the CPU to serialize rows by a model, to send, and to
parse rows that are decoded again. botocore documents the events ``before-call`` and ``before-send`` for such changes.
"""

from __future__ import annotations

import json
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
from urllib3.util import wait_for_read

from headrace.runtime.aws import AwsClient, has_proxy, tls_context

OK = 200
IDLE_SECONDS = 60.0
"""How long an idle connection may be used again, by the wall clock, which continues while Lambda freezes the
environment. Meanwhile the other side may close it without a trace here, and a call has only one more attempt."""


class DirectCalls:
    """The hot calls of ``client``; with a proxy, they take boto3's way. Thread-safe, as the client is."""

    def __init__(self, client: AwsClient) -> None:
        self._client = client
        self._url = client.meta.endpoint_url
        self._idle: deque[tuple[HTTPConnection, float]] = deque()
        self._call = _Call()
        client.meta.events.register("before-call.dynamodb.BatchWriteItem", self._serialize)
        if not has_proxy(client):
            client.meta.events.register("before-send.dynamodb.Query", self._send)
            client.meta.events.register("before-send.dynamodb.BatchWriteItem", self._send)
        weakref.finalize(self, _close, self._idle)

    def query(self, **parameters: Any) -> dict[str, Any]:
        """One page, as the client's ``query`` returns it."""
        return self._answer(self._client.query, parameters)

    def batch_write_item(self, **parameters: Any) -> dict[str, Any]:
        """What was not written, as the client's ``batch_write_item`` returns it."""
        self._call.body = json.dumps(parameters).encode()
        return self._answer(self._client.batch_write_item, {"RequestItems": {}})

    def _answer(self, operation: Any, parameters: dict[str, Any]) -> dict[str, Any]:
        self._call.answer = {}
        try:
            answer: dict[str, Any] = operation(**parameters)
            return answer | self._call.answer
        finally:
            self._call.answer = None

    def _serialize(self, params: dict[str, Any], **_: Any) -> None:
        if self._call.answer is not None:
            params["body"] = self._call.body

    def _send(self, request: Any, **_: Any) -> AWSResponse | None:
        if self._call.answer is None:  # the client has other users
            return None
        try:
            got, body = self._exchange(request)
            if got.status == OK:
                self._call.answer, body = json.loads(body), b"{}"
        except TimeoutError as error:
            raise exceptions.ReadTimeoutError(endpoint_url=self._url, error=error) from error
        except (OSError, HTTPException, ValueError) as error:
            raise exceptions.ConnectionClosedError(endpoint_url=self._url, error=error) from error
        headers: Any = got.headers
        del headers["x-amz-crc32"]  # that of the body which is decoded above
        return AWSResponse(request.url, got.status, headers, _Body(body))

    def _exchange(self, request: Any) -> tuple[HTTPResponse, bytes]:
        connection = self._connection()
        try:
            connection.request("POST", "/", request.body, request.headers)
            response = connection.getresponse()
            body = response.read()
        except BaseException:
            connection.close()
            raise
        self._idle.append((connection, time.time()))
        return response, body

    def _connection(self) -> HTTPConnection:
        while self._idle:
            with suppress(IndexError):  # another thread took it
                connection, since = self._idle.pop()
                is_fresh = connection.sock and 0 <= time.time() - since < IDLE_SECONDS
                if is_fresh and not wait_for_read(connection.sock, timeout=0):  # it is when the other side closed it
                    return connection
                connection.close()
        config, parts = self._client.meta.config, urlsplit(self._url)
        options: dict[str, Any] = {"port": parts.port, "timeout": config.connect_timeout}
        connection = (
            HTTPSConnection(parts.hostname, context=tls_context(), **options)
            if parts.scheme == "https"
            else HTTPConnection(parts.hostname, **options)
        )
        connection.connect()
        connection.sock.settimeout(config.read_timeout)
        return connection


class _Call(threading.local):
    """Of the direct call of this thread: its body, and the decoded answer; ``None`` if it makes no call."""

    answer: dict[str, Any] | None = None
    body: bytes = b""


class _Body(BytesIO):
    def stream(self) -> list[bytes]:
        """All of it, as boto3 reads it."""
        return [self.read()]


def _close(idle: deque[tuple[HTTPConnection, float]]) -> None:
    while idle:
        idle.pop()[0].close()
