"""Sends the hot calls of a client over kept connections: reads and writes of rows.

Their rows are DynamoDB JSON already. boto3 would take several times the CPU to serialize and parse them by a model, to
sign and to send. Its documented events ``provide-client-params`` and ``before-call`` let others do that. boto3 makes
every call that does not succeed here at once, except for a write whose condition does not hold: that is its outcome.
"""

from __future__ import annotations

import json
import re
import socket
import time
import weakref
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from botocore.credentials import Credentials
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
from urllib3.util import wait_for_read

from headrace.core.times import SystemClock
from headrace.runtime.aws import AwsClient, Signer, has_proxy, session, tls_context
from headrace.runtime.http_fields import content_length, http_fields, is_last

IDLE_SECONDS = 60.0
"""How long an idle connection may be used again, by the wall clock, which continues while Lambda freezes the
environment. Meanwhile the other side may close it without a trace here."""
CONTENT_TYPE = "application/x-amz-json-1.0"
_BODY = "headrace-body"
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
OK = 200
CONDITION_FAILED = "ConditionalCheckFailedException"


def send_directly(client: AwsClient) -> None:
    """Let ``client`` send its hot calls here. With a proxy, or without credentials, it sends all calls itself.

    A call that gets no answer in time is made again here, up to the client's number of attempts. If the first attempt
    ends with a refusal, a lost connection or an answer of another form, the client makes the call again, with its own
    retries. A later attempt ends the call, because the time for the client's attempts was spent here.
    """
    credentials = session().get_credentials()
    if credentials is None or has_proxy(client):
        return
    direct, events = _Direct(client, credentials), client.meta.events
    # botocore takes one handler for each id, so that all users of the client share its connections.
    events.register("provide-client-params.dynamodb.BatchExecuteStatement", _keep_rows, unique_id="headrace-rows")
    reads, writes = ("GetItem", "BatchGetItem", "Query"), ("PutItem", "UpdateItem", "BatchWriteItem")
    for operation in (*reads, *writes, "BatchExecuteStatement"):
        events.register_last(f"before-call.dynamodb.{operation}", direct.answer, unique_id=f"headrace-{operation}")


def _keep_rows(params: dict[str, Any], context: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Keep the rows from botocore, which would look up each of their values in its model."""
    context[_BODY] = json.dumps(params).encode()
    return {"Statements": [{"Statement": "-"}]}


class _Direct:
    """Answers the calls of one client. Thread-safe, as the client is."""

    def __init__(self, client: AwsClient, credentials: Credentials) -> None:
        self._config = client.meta.config
        self._url = client.meta.endpoint_url
        self._attempts = client.meta.config.retries["total_max_attempts"]
        self._signer = Signer("dynamodb", self._url, client.meta.region_name, credentials, SystemClock())
        self._idle: deque[tuple[socket.socket, float]] = deque()
        weakref.finalize(self, _close, self._idle)

    def answer(
        self, params: dict[str, Any], context: dict[str, Any], **_: Any
    ) -> tuple[SimpleNamespace, dict[str, Any]] | None:
        """What botocore asks before it makes a call: the response and what it holds; ``None``: make the call."""
        body = params["body"] = context.pop(_BODY, params["body"])
        headers = (("content-type", CONTENT_TYPE), ("x-amz-target", params["headers"]["X-Amz-Target"]))
        for attempt in range(1, self._attempts + 1):
            try:
                request = self._signer.head("", sha256(body).hexdigest(), len(body), headers) + body
                status, content = self._exchange(request)
                is_outcome = status == OK or attempt > 1 or content["Error"]["Code"] == CONDITION_FAILED
                return (SimpleNamespace(status_code=status), content) if is_outcome else None
            except TimeoutError as error:
                if attempt == self._attempts:
                    raise ReadTimeoutError(endpoint_url=self._url, error=error) from error
            except (OSError, ValueError) as error:
                if attempt > 1:
                    raise ConnectionClosedError(endpoint_url=self._url, error=error) from error
                break
        return None

    def _exchange(self, request: bytes) -> tuple[int, dict[str, Any]]:
        """The status of the answer to ``request``, and what botocore would read from it.

        Raises:
            OSError, ValueError: the other side closes, or does not answer as DynamoDB does.
        """
        connection = self._connection()
        try:
            connection.sendall(request)
            with connection.makefile("rb") as response:
                head = response.readline()
                while (line := response.readline()).strip():
                    head += line
                fields = http_fields(head)
                length = content_length(fields)
                if length is None:
                    raise ValueError("a response without a length")
                body = response.read(length)
        except BaseException:
            connection.close()
            raise
        if is_last(fields):
            connection.close()
        else:
            self._idle.append((connection, time.time()))
        return _content(head, fields, body)

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


def _content(head: bytes, fields: Mapping[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
    """The status of an answer of DynamoDB, and what botocore would read from it. Raises ValueError: not an answer."""
    status, request_id = _STATUS.match(head), fields.get("x-amzn-requestid")
    if status is None or request_id is None:
        raise ValueError("not an answer")
    content: dict[str, Any] = json.loads(body)
    content["ResponseMetadata"] = {"RequestId": request_id}
    if int(status[1]) != OK:
        content["Error"] = {"Code": str(content.get("__type", "")).rpartition("#")[2]}
    return int(status[1]), content


def _close(idle: deque[tuple[socket.socket, float]]) -> None:
    while idle:
        idle.pop()[0].close()
