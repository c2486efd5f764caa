"""Sends the hot calls of a client over kept connections: reads of rows, PutItem and BatchWriteItem.

Their rows are DynamoDB JSON already, so a call's parameters are its body. boto3 would take several times the CPU to
find the endpoint again, to serialize and parse rows by a model, to sign and to send. It makes every call that does not
succeed here at once.
"""

from __future__ import annotations

import functools
import json
import re
import socket
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any, cast
from urllib.parse import urlsplit

from botocore.credentials import Credentials
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError
from urllib3.util import wait_for_read

from headrace.core.times import SystemClock
from headrace.runtime.aws import AwsClient, Headers, Signer, has_proxy, session, tls_context

IDLE_SECONDS = 60.0
"""How long an idle connection may be used again, by the wall clock, which continues while Lambda freezes the
environment. Meanwhile the other side may close it without a trace here."""
CONTENT_TYPE = "application/x-amz-json-1.0"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d{1,9})\r\n", re.IGNORECASE)
_REQUEST_ID = re.compile(rb"\r\nx-amzn-requestid: *(\S+)\r\n", re.IGNORECASE)
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_DIRECT = "headrace_direct"
OK = 200
CHUNK = 65_536
HOT = {
    "get_item": "GetItem",
    "batch_get_item": "BatchGetItem",
    "query": "Query",
    "put_item": "PutItem",
    "batch_write_item": "BatchWriteItem",
}
"""The methods of a client whose calls are sent here, and their operations."""
Operation = Callable[..., dict[str, Any]]


def send_directly(client: AwsClient) -> None:
    """Let ``client`` send its hot calls here. With a proxy, or without credentials, it sends all calls itself.

    A call that gets no answer in time is made again here, up to the client's number of attempts. If the first attempt
    ends with a refusal, a lost connection or an answer of another form, the client makes the call again, with its own
    retries. A later attempt ends the call, because the time for the client's attempts was spent here.
    """
    credentials = session().get_credentials()
    if credentials is None or has_proxy(client) or hasattr(client, _DIRECT):
        return
    direct = _Direct(client, credentials)
    # All users of the client share its connections.
    setattr(client, _DIRECT, direct)
    for method, operation in HOT.items():
        setattr(client, method, direct.instead_of(getattr(client, method), operation))


class _Direct:
    """Makes the calls of one client. Thread-safe, as the client is."""

    def __init__(self, client: AwsClient, credentials: Credentials) -> None:
        self._config = client.meta.config
        self._url = client.meta.endpoint_url
        self._attempts = client.meta.config.retries["total_max_attempts"]
        self._signer = Signer("dynamodb", self._url, client.meta.region_name, credentials, SystemClock())
        self._idle: deque[tuple[socket.socket, float]] = deque()
        weakref.finalize(self, _close, self._idle)

    def instead_of(self, boto3s: Operation, operation: str) -> Operation:
        """A method of the client that takes the place of ``boto3s``."""
        headers = (("content-type", CONTENT_TYPE), ("x-amz-target", f"DynamoDB_20120810.{operation}"))

        @functools.wraps(boto3s)
        def method(**parameters: Any) -> dict[str, Any]:
            content = self._answer(json.dumps(parameters).encode(), headers, operation)
            return boto3s(**parameters) if content is None else content

        return method

    def _answer(self, body: bytes, headers: Headers, operation: str) -> dict[str, Any] | None:
        """The content of the answer to a call; ``None``: boto3 has to make it.

        Raises:
            ClientError, BotoCoreError: what boto3 would raise.
        """
        for attempt in range(1, self._attempts + 1):
            try:
                request = self._signer.head("", sha256(body).hexdigest(), len(body), headers) + body
                status, content = _content(*self._exchange(request))
                if status == OK:
                    return content
                if attempt == 1:
                    return None
                raise ClientError(cast(Any, content), operation)
            except TimeoutError as error:
                if attempt == self._attempts:
                    raise ReadTimeoutError(endpoint_url=self._url, error=error) from error
            except (OSError, ValueError) as error:
                if attempt > 1:
                    raise ConnectionClosedError(endpoint_url=self._url, error=error) from error
                break
        return None

    def _exchange(self, request: bytes) -> tuple[bytes, bytes]:
        """The head and the body of the response to ``request``; shorter ones if the other side closes."""
        connection = self._connection()
        try:
            connection.sendall(request)
            response = connection.recv(CHUNK)
            while (end := response.find(b"\r\n\r\n")) < 0 and (more := connection.recv(CHUNK)):
                response += more
            head = response[: end + 2]
            length = _LENGTH.search(head)
            if length is None:
                raise ValueError("a response without a length")
            parts, left = [response[end + 4 :]], int(length[1]) - (len(response) - end - 4)
            while left > 0 and (more := connection.recv(CHUNK)):
                parts.append(more)
                left -= len(more)
        except BaseException:
            connection.close()
            raise
        if left or b"\r\nconnection: close\r\n" in head.lower():
            connection.close()
        else:
            self._idle.append((connection, time.time()))
        return head, b"".join(parts)

    def _connection(self) -> socket.socket:
        while self._idle:
            with suppress(IndexError):  # another thread took it
                connection, since = self._idle.pop()
                is_fresh = 0 <= time.time() - since < IDLE_SECONDS
                if is_fresh and not wait_for_read(connection, timeout=0):  # it is when the other side closed it
                    return connection
                connection.close()
        parts = urlsplit(self._url)
        address = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
        connection = socket.create_connection(address, self._config.connect_timeout)
        # Without it, the end of a long request waits up to 40 ms for an acknowledgement.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if parts.scheme == "https":
            connection = tls_context().wrap_socket(connection, server_hostname=parts.hostname)
        connection.settimeout(self._config.read_timeout)
        return connection


def _content(head: bytes, body: bytes) -> tuple[int, dict[str, Any]]:
    """The status of an answer of DynamoDB, and what botocore would read from it. Raises ValueError: not an answer."""
    status, request_id = _STATUS.match(head), _REQUEST_ID.search(head)
    if status is None or request_id is None:
        raise ValueError("not an answer")
    content: dict[str, Any] = json.loads(body)
    content["ResponseMetadata"] = {"RequestId": request_id[1].decode()}
    if int(status[1]) != OK:
        content["Error"] = {"Code": str(content.get("__type", "")).rpartition("#")[2]}
    return int(status[1]), content


def _close(idle: deque[tuple[socket.socket, float]]) -> None:
    while idle:
        idle.pop()[0].close()
