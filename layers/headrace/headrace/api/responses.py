"""Builds the answers of both protocols. A route's function returns the fields, which are encoded here, once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from headrace.core import times
from headrace.core.errors import FieldError, InvalidRequest, RateLimited, Unavailable, echo, mapping_of, to_body
from headrace.core.json import encode_object

RequestId = str | int | float
"""The client's id of a frame."""
REQUEST_ID_LIMIT = 128
REQUEST_ID_FORM = f"a text or a number of at most {REQUEST_ID_LIMIT} characters"
REQUEST_ID = "x-request-id"
"""The header of every HTTP answer with the correlation id of its log lines."""
HEADERS = {"content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff"}
"""The headers of every HTTP answer. No answer is for another caller."""
FRAME_BYTES = 128 * 1024
"""The longest message that a WebSocket API sends."""
HEAD_BYTES = 1024
"""How many of these bytes are for the ids of the frame's request."""


def http(status: int, body: Mapping[str, Any] | int, headers: Mapping[str, str]) -> dict[str, Any]:
    """The answer of an HTTP API (payload 2.0)."""
    text = str(body) if isinstance(body, int) else encode_object(body)
    return {"statusCode": status, "headers": {**HEADERS, **headers}, "body": text}


def http_error(error: Exception, headers: Mapping[str, str]) -> dict[str, Any]:
    """The HTTP answer to ``error``; ``headers`` has the correlation id as :data:`REQUEST_ID`."""
    body = {"error": to_body(error, headers[REQUEST_ID])}
    return http(mapping_of(error).status, body, {**retry_headers(error), **headers})


def retry_headers(error: Exception) -> dict[str, str]:
    """The ``retry-after`` header, if ``error`` says after how many seconds the request may succeed."""
    return {"retry-after": str(error.retry_after)} if isinstance(error, Unavailable | RateLimited) else {}


def frame(body: Mapping[str, Any], request_id: RequestId | None, correlation_id: str) -> dict[str, Any]:
    """The answer of a WebSocket route: ``body``, which has a ``type``, with the ids of its request.

    The error in a frame of the type ``error`` has the correlation id itself.
    """
    fields = {"type": body["type"], **({} if request_id is None else {"requestId": request_id}), **body}
    if "error" not in body:
        fields["correlationId"] = correlation_id
    return {"statusCode": 200, "body": encode_object(fields)}


def expiry(seconds: int) -> str:
    """When a token expires (epoch seconds), as answers have it."""
    return times.iso(min(seconds, times.LAST_SECOND) * times.SECOND)


def request_id_of(frame_body: Mapping[str, Any]) -> RequestId | None:
    """The client's id of a frame, as it came; ``None`` if there is none, or ``null``.

    Raises:
        InvalidRequest: it is not of ``REQUEST_ID_FORM``.
    """
    value = frame_body.get("requestId")
    if value is None:
        return None
    if isinstance(value, str) and len(value) <= REQUEST_ID_LIMIT:
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and not isinstance(value, bool) and len(str(value)) <= REQUEST_ID_LIMIT:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    detail = FieldError("requestId", "is not usable", echo(value), REQUEST_ID_FORM)
    raise InvalidRequest("requestId is not usable", details=[detail])
