"""Reads and writes objects of RabbitMQ's management API, which has what AMQP has no commands for, such as users."""

from __future__ import annotations

import json
import ssl
from base64 import b64encode
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Self
from urllib.parse import quote, urlsplit

from headrace.core.errors import BrokerUnavailable, ConfigurationError, echo
from headrace.runtime.secrets import Credentials

CALL_SECONDS = 3.0
"""The longest time to connect, and for each read of an answer."""
ANSWER_BYTES = 64 * 1024
"""The longest answer that is read."""
_REASON_LENGTH = 200
_TEMPORARY = (408, 429)


class ManagementApi:
    """The management API at ``url`` (https verifies the host), as ``administrator``; one connection for all calls.

    Each method raises BrokerUnavailable if there is no answer, and ConfigurationError if the broker refuses the call.
    """

    def __init__(self, url: str, administrator: Credentials) -> None:
        parts = urlsplit(url)
        self._base = f"{parts.path.rstrip('/')}/api/"
        self._connection: HTTPConnection
        if parts.scheme == "https":
            tls = ssl.create_default_context()
            self._connection = HTTPSConnection(parts.hostname or "", parts.port, timeout=CALL_SECONDS, context=tls)
        else:
            self._connection = HTTPConnection(parts.hostname or "", parts.port, timeout=CALL_SECONDS)
        login = f"{administrator.username}:{administrator.password}".encode()
        self._headers = {
            "authorization": f"Basic {b64encode(login).decode()}",
            "content-type": "application/json",
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, *path: str) -> dict[str, Any] | None:
        """The object at ``path`` (such as ``"users", "alice"``); ``None`` if there is none."""
        status, content = self._call("GET", path, None)
        if status == 404:
            return None
        _check(status, content, path)
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise BrokerUnavailable(f"the broker's management API gave no JSON object for {'/'.join(path)}")
        return found

    def put(self, *path: str, body: Mapping[str, str]) -> None:
        """Create or replace the object at ``path``."""
        status, content = self._call("PUT", path, json.dumps(body).encode())
        _check(status, content, path)

    def _call(self, method: str, path: tuple[str, ...], body: bytes | None) -> tuple[int, bytes]:
        target = self._base + "/".join(quote(part, safe="") for part in path)
        try:
            self._connection.request(method, target, body, self._headers)
            answer = self._connection.getresponse()
            content = answer.read(ANSWER_BYTES + 1)
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise BrokerUnavailable(f"the broker's management API is unavailable: {type(error).__name__}") from error
        if len(content) > ANSWER_BYTES:
            self._connection.close()
            raise BrokerUnavailable(f"the broker's management API answered with more than {ANSWER_BYTES} bytes")
        return answer.status, content


def _check(status: int, content: bytes, path: tuple[str, ...]) -> None:
    if 200 <= status < 300:
        return
    if status >= 500 or status in _TEMPORARY:
        raise BrokerUnavailable(f"the broker's management API answered with {status}")
    raise ConfigurationError(f"the broker refuses {'/'.join(path)} with {status}: {_reason(content)}")


def _reason(content: bytes) -> object:
    """The reason in an error's body, such as ``{"error": "bad_request", "reason": "…"}``."""
    try:
        found = json.loads(content)
        return echo(found.get("reason") or found.get("error") or "no reason", _REASON_LENGTH)
    except (ValueError, AttributeError, RecursionError):
        return "no reason"
