"""Sends the hot calls of a client over kept connections: Query, BatchWriteItem and BatchGetItem.

Their rows are DynamoDB JSON already. boto3 would take several times the CPU to serialize and parse them by a model, to
sign and to send. It makes every call that does not succeed here at once.
"""

from __future__ import annotations

import json
import re
import socket
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
from urllib3.util import wait_for_read

from headrace.core.times import SystemClock
from headrace.runtime.aws import AwsClient, has_proxy, session, tls_context
from headrace.runtime.sigv4 import Signer

IDLE_SECONDS = 60.0
"""How long an idle connection may be used again, by the wall clock, which continues while Lambda freezes the
environment. Meanwhile the other side may close it without a trace here."""
CHUNK = 64 * 1024
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d{1,9})\r\n", re.IGNORECASE)
_REQUEST_ID = re.compile(rb"\r\nx-amzn-requestid: *(\S+)\r\n", re.IGNORECASE)
_OK = b"HTTP/1.1 200 "

Answer = dict[str, Any]


class DirectCalls:
    """The hot calls of ``client``, which return and raise what the client does. Thread-safe, as the client is.

    A call that gets no answer in time is made again here, up to the client's number of attempts. A refusal, a lost
    connection or an answer of another form is not read here: the client makes the call again, with its own retries.
    With a proxy, the client makes all calls.
    """

    def __init__(self, client: AwsClient) -> None:
        self._client = client
        self._url = client.meta.endpoint_url
        self._attempts = client.meta.config.retries["total_max_attempts"]
        self._idle: deque[tuple[socket.socket, float]] = deque()
        self._signer: Signer | None = None
        credentials = session().get_credentials()
        if credentials is not None and not has_proxy(client):
            self._signer = Signer("dynamodb", self._url, client.meta.region_name, credentials, SystemClock())
        weakref.finalize(self, _close, self._idle)

    def query(self, **parameters: Any) -> Answer:
        """One page of rows."""
        return self._call("Query", self._client.query, parameters)

    def batch_write_item(self, **parameters: Any) -> Answer:
        """What was not written."""
        return self._call("BatchWriteItem", self._client.batch_write_item, parameters)

    def batch_get_item(self, **parameters: Any) -> Answer:
        """The rows that were found, and what was not read."""
        return self._call("BatchGetItem", self._client.batch_get_item, parameters)

    def _call(self, name: str, plain: Callable[..., Answer], parameters: dict[str, Any]) -> Answer:
        if self._signer is None:
            return plain(**parameters)
        body = json.dumps(parameters).encode()
        for attempt in range(1, self._attempts + 1):
            try:
                return self._answer(self._signer, name, body)
            except TimeoutError as error:
                if attempt == self._attempts:
                    raise ReadTimeoutError(endpoint_url=self._url, error=error) from error
            except (OSError, ValueError) as error:
                if attempt > 1:  # the time for the client's attempts was spent here
                    raise ConnectionClosedError(endpoint_url=self._url, error=error) from error
                break
        return plain(**parameters)

    def _answer(self, signer: Signer, name: str, body: bytes) -> Answer:
        """The answer of DynamoDB, decoded.

        Raises:
            ValueError: it is a refusal, or not from DynamoDB.
            OSError: there was no complete answer.
        """
        headers = {"content-type": "application/x-amz-json-1.0", "x-amz-target": f"DynamoDB_20120810.{name}"}
        head, found = self._exchange(signer.head("", sha256(body).hexdigest(), len(body), headers) + body)
        request_id = _REQUEST_ID.search(head)
        if request_id is None or not head.startswith(_OK):
            raise ValueError("not an answer")
        answer: Answer = json.loads(found)
        return answer | {"ResponseMetadata": {"RequestId": request_id[1].decode()}}

    def _exchange(self, request: bytes) -> tuple[bytes, bytearray]:
        """The head and the body of the response to ``request``."""
        connection = self._connection()
        try:
            connection.sendall(request)
            received = _receive(connection)
            while (end := received.find(b"\r\n\r\n")) < 0:
                received += _receive(connection)
            head, body = bytes(received[: end + 2]), received[end + 4 :]
            length = _LENGTH.search(head)
            if length is None:
                raise ValueError("a response without a length")
            while len(body) < int(length[1]):
                body += _receive(connection)
        except BaseException:
            connection.close()
            raise
        if b"\r\nconnection: close\r\n" in head.lower():
            connection.close()
        else:
            self._idle.append((connection, time.time()))
        return head, body

    def _connection(self) -> socket.socket:
        while self._idle:
            with suppress(IndexError):  # another thread took it
                connection, since = self._idle.pop()
                is_fresh = 0 <= time.time() - since < IDLE_SECONDS
                if is_fresh and not wait_for_read(connection, timeout=0):  # it is when the other side closed it
                    return connection
                connection.close()
        config, parts = self._client.meta.config, urlsplit(self._url)
        is_secure = parts.scheme == "https"
        address = parts.hostname, parts.port or (443 if is_secure else 80)
        connection = socket.create_connection(address, config.connect_timeout)
        # Without it, the end of a long request waits up to 40 ms for an acknowledgement.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if is_secure:
            connection = tls_context().wrap_socket(connection, server_hostname=parts.hostname)
        connection.settimeout(config.read_timeout)
        return connection


def _receive(connection: socket.socket) -> bytearray:
    received = connection.recv(CHUNK)
    if not received:
        raise ConnectionResetError("closed by the other side")
    return bytearray(received)


def _close(idle: deque[tuple[socket.socket, float]]) -> None:
    while idle:
        idle.pop()[0].close()
