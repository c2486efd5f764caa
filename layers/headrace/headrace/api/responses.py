"""Builds the answers of both protocols; no other code sets a status or the ``type`` of a frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core.errors import RateLimited, Unavailable, mapping_of, to_body
from headrace.core.json import encode

REQUEST_ID_LIMIT = 128
FRAME_BYTES = 128 * 1024
"""The longest message that a WebSocket API sends."""


def http(status: int, body: Mapping[str, Any] | str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The answer of an HTTP API (payload 2.0) with a JSON body; a ``str`` is JSON already."""
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json", **(headers or {})},
        "body": body if isinstance(body, str) else encode(body),
    }


def http_error(error: Exception) -> dict[str, Any]:
    """The HTTP answer to ``error``."""
    return http(mapping_of(error).status, {"error": to_body(error)}, retry_headers(error))


def retry_headers(error: Exception) -> dict[str, str]:
    """The ``retry-after`` header, if ``error`` says after how many seconds the request may succeed."""
    return {"retry-after": str(error.retry_after)} if isinstance(error, Unavailable | RateLimited) else {}


def frame(kind: str, request_id: str | None, body: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a two-way WebSocket route: a frame of the type ``kind`` for the same connection."""
    head = {"type": kind} if request_id is None else {"type": kind, "requestId": request_id}
    return {"statusCode": 200, "body": encode({**head, **body})}


def ack(request_id: str | None, result: Mapping[str, Any]) -> dict[str, Any]:
    """A frame that accepts one event."""
    return frame("ack", request_id, result)


def acks(request_id: str | None, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A frame with one result per event, in the order sent. If it is too long, errors are sent without details."""
    answer = frame("acks", request_id, {"results": results})
    if len(answer["body"].encode()) > FRAME_BYTES:
        answer = frame("acks", request_id, {"results": [_without_details(result) for result in results]})
    return answer


def _without_details(result: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**result, "error": {**result["error"], "details": []}} if "error" in result else result


def pong(request_id: str | None, time: str) -> dict[str, Any]:
    """A frame that answers a ping."""
    return frame("pong", request_id, {"time": time})


def subscribed(request_id: str | None, room_id: str, newest: str | None, position: str) -> dict[str, Any]:
    """A frame that confirms a subscription; ``newest`` is the key of the newest message that the caller may read."""
    return frame("subscribed", request_id, {"roomId": room_id, "newest": newest, "position": position})


def unsubscribed(request_id: str | None, room_id: str) -> dict[str, Any]:
    """A frame that confirms the end of a subscription."""
    return frame("unsubscribed", request_id, {"roomId": room_id})


def history(request_id: str | None, room_id: str, page: str) -> dict[str, Any]:
    """A frame with a page of a room; ``page`` is a JSON object."""
    head = frame("history", request_id, {"roomId": room_id})
    return {**head, "body": f"{head['body'][:-1]},{page[1:]}"}


def frame_error(request_id: str | None, error: Mapping[str, Any], **extra: Any) -> dict[str, Any]:
    """A frame with an error body, and with ``extra`` fields such as the id of the refused message."""
    return frame("error", request_id, {**extra, "error": error})


def request_id_of(frame_body: Mapping[str, Any]) -> str | None:
    """The client's id of a frame, if it can be sent back: a text of at most ``REQUEST_ID_LIMIT`` characters."""
    value = frame_body.get("requestId")
    if not isinstance(value, str) or not 0 < len(value) <= REQUEST_ID_LIMIT:
        return None
    return value.encode("utf-8", "replace").decode()
