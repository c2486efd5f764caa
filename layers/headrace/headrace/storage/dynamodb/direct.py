"""Sends the hot calls of a client, Query and BatchWriteItem, over a pool of urllib3, and decodes their answers.

boto3 still serializes, signs and retries them. Between, it would take several times the CPU to send a request and to
parse rows that are decoded again. The event ``before-send`` is botocore's documented place for another way to send.
"""

from __future__ import annotations

import json
import threading
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

from botocore import exceptions
from botocore.awsrequest import AWSResponse
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, Timeout
from urllib3.exceptions import ConnectTimeoutError, HTTPError, ReadTimeoutError

from headrace.runtime.aws import AwsClient, ca_bundle, has_proxy

OK = 200


class DirectCalls:
    """The hot calls of ``client``; with a proxy, they take boto3's way. Thread-safe, as the client is."""

    def __init__(self, client: AwsClient) -> None:
        self._client = client
        self._url = client.meta.endpoint_url
        self._pool = _pool(self._url, client.meta.config)
        self._call = _Call()
        if not has_proxy(client):
            client.meta.events.register("before-send.dynamodb.Query", self._send)
            client.meta.events.register("before-send.dynamodb.BatchWriteItem", self._send)

    def query(self, **parameters: Any) -> dict[str, Any]:
        """One page, as the client's ``query`` returns it."""
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
            got = self._pool.urlopen(request.method, "/", request.body, request.headers, decode_content=False)
            body = got.data
            if got.status == OK:
                self._call.answer, body = json.loads(body), b"{}"
        except ConnectTimeoutError as error:
            raise exceptions.ConnectTimeoutError(endpoint_url=self._url, error=error) from error
        except ReadTimeoutError as error:
            raise exceptions.ReadTimeoutError(endpoint_url=self._url, error=error) from error
        except (HTTPError, ValueError) as error:
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


def _pool(url: str, config: Any) -> HTTPConnectionPool:
    """Connections to the endpoint ``url``, with the timeouts and the size that a client's ``config`` says."""
    parts = urlsplit(url)
    timeout = Timeout(connect=config.connect_timeout, read=config.read_timeout)
    options: dict[str, Any] = {"timeout": timeout, "maxsize": config.max_pool_connections, "retries": False}
    if parts.scheme == "https":
        return HTTPSConnectionPool(str(parts.hostname), parts.port, ca_certs=ca_bundle(), **options)
    return HTTPConnectionPool(str(parts.hostname), parts.port, **options)
