"""A function's answer to an API, and the HTTP response that it becomes (payload format 2.0)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

_NOT_PASSED_ON = frozenset(
    {"connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)


class MalformedAnswer(Exception):
    """The function's answer is not one that the stage understands; the client gets an error."""


@dataclass(frozen=True)
class ProxyAnswer:
    """A function's answer to an API."""

    status: int
    body: bytes
    headers: Mapping[str, Any]

    @classmethod
    def parse(cls, payload: bytes) -> ProxyAnswer:
        """Return the answer.

        Raises:
            MalformedAnswer: it is not an object with statusCode and a text as body; names the mistake without quoting.
        """
        try:
            answer = json.loads(payload)
        except ValueError:
            raise MalformedAnswer("it is not JSON") from None
        status = answer.get("statusCode") if isinstance(answer, dict) else None
        if isinstance(status, bool) or not isinstance(status, int) or not 200 <= status <= 599:
            raise MalformedAnswer("it is not an object with a statusCode from 200 to 599")
        headers, body = answer.get("headers") or {}, answer.get("body") or ""
        if not isinstance(headers, dict):
            raise MalformedAnswer("headers is not an object")
        if not isinstance(body, str) or answer.get("isBase64Encoded"):
            raise MalformedAnswer("body is not a text, or is marked as base64")
        return cls(status, body.encode("utf-8", "replace"), headers)

    def header(self, name: str) -> str | None:
        """Return a header's value, ignoring the case of its name."""
        for given, value in self.headers.items():
            if given.lower() == name.lower() and isinstance(value, str):
                return value
        return None

    def response(self) -> web.Response:
        """The response of an HTTP API."""
        passed_on = {name: str(value) for name, value in self.headers.items() if name.lower() not in _NOT_PASSED_ON}
        headers = CIMultiDict(passed_on)
        if self.body:
            headers.setdefault("Content-Type", "text/plain;charset=UTF-8")
        return web.Response(status=self.status, body=self.body, headers=headers)
