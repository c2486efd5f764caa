"""Builds the answers of both protocols; no other code sets a status or the ``type`` of a frame."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core import times
from headrace.core.errors import FieldError, InvalidRequest, RateLimited, Unavailable, echo, mapping_of, to_body
from headrace.core.json import encode

RequestId = str | int | float
"""The client's id of a frame."""
REQUEST_ID_LIMIT = 128
REQUEST_ID_FORM = f"a text or a number of at most {REQUEST_ID_LIMIT} characters"
HEADERS = {"content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff"}
"""Of every HTTP answer. Pages are private, and no answer is for another caller."""
FRAME_BYTES = 128 * 1024
"""The longest message that a WebSocket API sends."""
CORRELATION_BYTES = 256
"""Of them, for the ``correlationId``."""


def http(status: int, body: Mapping[str, Any] | str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The answer of an HTTP API (payload 2.0) with a JSON body; a ``str`` is JSON already."""
    return {
        "statusCode": status,
        "headers": {**HEADERS, **(headers or {})},
        "body": body if isinstance(body, str) else encode(body),
    }


def http_error(error: Exception, correlation_id: str) -> dict[str, Any]:
    """The HTTP answer to ``error``."""
    return http(mapping_of(error).status, {"error": to_body(error, correlation_id)}, retry_headers(error))


def retry_headers(error: Exception) -> dict[str, str]:
    """The ``retry-after`` header, if ``error`` says after how many seconds the request may succeed."""
    return {"retry-after": str(error.retry_after)} if isinstance(error, Unavailable | RateLimited) else {}


def frame(kind: str, request_id: RequestId | None, body: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a two-way WebSocket route: a frame of the type ``kind`` for the same connection."""
    head = {"type": kind} if request_id is None else {"type": kind, "requestId": request_id}
    return {"statusCode": 200, "body": encode({**head, **body})}


def correlated(answer: Mapping[str, Any], correlation_id: str) -> dict[str, Any]:
    """A frame with ``correlationId``, the id in the log lines of its request. In a frame with an error, it is there."""
    head = "" if answer["body"].startswith('{"type":"error"') else f',"correlationId":{encode(correlation_id)}'
    return {**answer, "body": f"{answer['body'][:-1]}{head}}}"}


def ack(request_id: RequestId | None, result: Mapping[str, Any]) -> dict[str, Any]:
    """A frame that accepts one event."""
    return frame("ack", request_id, result)


def acks(request_id: RequestId | None, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A frame with one result per event, in the order sent. If it is too long, errors are sent without details."""
    answer = frame("acks", request_id, {"results": results})
    if len(answer["body"].encode()) > FRAME_BYTES - CORRELATION_BYTES:
        answer = frame("acks", request_id, {"results": [_without_details(result) for result in results]})
    return answer


def _without_details(result: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**result, "error": {**result["error"], "details": []}} if "error" in result else result


def pong(request_id: RequestId | None, time: str, token_expires_at: int) -> dict[str, Any]:
    """A frame that answers a ping."""
    return frame("pong", request_id, {"time": time, "tokenExpiresAt": _expiry(token_expires_at)})


def authenticated(request_id: RequestId | None, token_expires_at: int) -> dict[str, Any]:
    """A frame that confirms a new token."""
    return frame("authenticated", request_id, {"tokenExpiresAt": _expiry(token_expires_at)})


def subscribed(request_id: RequestId | None, room_id: str, position: str, token_expires_at: int) -> dict[str, Any]:
    """A frame that confirms a subscription."""
    body = {"roomId": room_id, "position": position, "tokenExpiresAt": _expiry(token_expires_at)}
    return frame("subscribed", request_id, body)


def checked(request_id: RequestId | None, rooms: Mapping[str, Any], token_expires_at: int) -> dict[str, Any]:
    """A frame with what was found out about each of ``rooms``."""
    return frame("checked", request_id, {"rooms": rooms, "tokenExpiresAt": _expiry(token_expires_at)})


def _expiry(seconds: int) -> str:
    return times.iso(min(seconds, times.LAST_SECOND) * times.SECOND)


def unsubscribed(request_id: RequestId | None, room_id: str) -> dict[str, Any]:
    """A frame that confirms the end of a subscription."""
    return frame("unsubscribed", request_id, {"roomId": room_id})


def history(request_id: RequestId | None, room_id: str, page: str) -> dict[str, Any]:
    """A frame with a page of a room; ``page`` is a JSON object."""
    head = frame("history", request_id, {"roomId": room_id})
    return {**head, "body": f"{head['body'][:-1]},{page[1:]}"}


def frame_error(request_id: RequestId | None, error: Mapping[str, Any], **extra: Any) -> dict[str, Any]:
    """A frame with an error body, and with ``extra`` fields such as the id of the refused message."""
    return frame("error", request_id, {**extra, "error": error})


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
