"""Turns a function's answer into an HTTP response, payload format 2.0."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

_NOT_PASSED_ON = frozenset(
    {"connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)


class MalformedAnswer(Exception):
    """The function's answer is not one that API Gateway understands; the client gets a 500."""


def http_response(payload: bytes) -> web.Response:
    """Return the response for a function's JSON answer.

    An answer without ``statusCode`` is itself the body of a 200, as JSON.

    Raises:
        MalformedAnswer: the message names the mistake without quoting the answer.
    """
    try:
        answer = json.loads(payload)
    except ValueError:
        raise MalformedAnswer("it is not JSON") from None
    if not isinstance(answer, dict) or answer.get("statusCode") is None:
        body = answer.encode("utf-8", "replace") if isinstance(answer, str) else payload
        return web.Response(status=200, body=body, headers={"Content-Type": "application/json"})
    headers = _headers(answer.get("headers"))
    body = answer_body(answer)
    if body and "Content-Type" not in headers:
        headers["Content-Type"] = "text/plain;charset=UTF-8"
    return web.Response(status=status_code(answer["statusCode"]), body=body, headers=headers)


def status_code(value: Any) -> int:
    """Return a status code given as a number or as digits.

    Raises:
        MalformedAnswer: it is neither, or not from 200 to 599.
    """
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 200 <= value <= 599:
        raise MalformedAnswer("statusCode is not a number from 200 to 599")
    return value


def answer_body(answer: dict[str, Any]) -> bytes:
    """Return the body of an answer; empty if it has none.

    Raises:
        MalformedAnswer: it is not a text, or base64, which no function sends.
    """
    body = answer.get("body")
    if body is None:
        return b""
    if not isinstance(body, str) or answer.get("isBase64Encoded"):
        raise MalformedAnswer("body is not a text")
    return body.encode("utf-8", "replace")


def _headers(value: Any) -> CIMultiDict[str]:
    headers: CIMultiDict[str] = CIMultiDict()
    if value is None:
        return headers
    if not isinstance(value, dict):
        raise MalformedAnswer("headers is not an object")
    for name, content in value.items():
        if content is None:
            continue
        if isinstance(content, bool):
            content = "true" if content else "false"
        elif not isinstance(content, str | int | float):
            raise MalformedAnswer(f"header {name[:40]} is not a text")
        if name.lower() not in _NOT_PASSED_ON:
            headers[_safe(name)] = _safe(str(content))
    return headers


def _safe(text: str) -> str:
    if "\r" in text or "\n" in text or "\0" in text:
        raise MalformedAnswer("a header has a line break in it")
    return text
