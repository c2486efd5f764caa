"""Builds the answers of both protocols; no other code sets a status or a frame's ``type``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core.errors import RateLimited, Unavailable, mapping_of, to_body
from headrace.core.json import encode

REQUEST_ID_LIMIT = 128
FRAME_BYTES = 128 * 1024
"""The longest message that a WebSocket API sends."""


def http(status: int, body: Mapping[str, Any] | str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """An HTTP API answer (payload 2.0) with a JSON body; a text is JSON already."""
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json", **(headers or {})},
        "body": body if isinstance(body, str) else encode(body),
    }


def http_error(error: Exception) -> dict[str, Any]:
    """The HTTP answer to ``error``."""
    return http(mapping_of(error).status, {"error": to_body(error)}, retry_headers(error))


def retry_headers(error: Exception) -> dict[str, str]:
    """The header with the seconds after which a request may succeed, if they are known."""
    return {"retry-after": str(error.retry_after)} if isinstance(error, Unavailable | RateLimited) else {}


def frame(body: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of a two-way WebSocket route: ``body`` goes back on the same connection."""
    return {"statusCode": 200, "body": encode(body)}


def ack(request_id: str | None, result: Mapping[str, Any]) -> dict[str, Any]:
    """A frame that accepts one event."""
    return frame({**_head("ack", request_id), **result})


def acks(request_id: str | None, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A frame with one result per event, in the order sent; too long for a frame, errors go without their details."""
    body = {**_head("acks", request_id), "results": results}
    answer = frame(body)
    if len(answer["body"].encode()) > FRAME_BYTES:
        answer = frame({**body, "results": [_without_details(result) for result in results]})
    return answer


def _without_details(result: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**result, "error": {**result["error"], "details": []}} if "error" in result else result


def pong(request_id: str | None, time: str) -> dict[str, Any]:
    """A frame that answers a ping."""
    return frame({**_head("pong", request_id), "time": time})


def subscribed(request_id: str | None, room_id: str, newest: str | None) -> dict[str, Any]:
    """A frame that confirms a subscription; ``newest`` is the key of its newest message within reach."""
    return frame({**_head("subscribed", request_id), "roomId": room_id, "newest": newest})


def unsubscribed(request_id: str | None, room_id: str) -> dict[str, Any]:
    """A frame that confirms the end of a subscription."""
    return frame({**_head("unsubscribed", request_id), "roomId": room_id})


def history(request_id: str | None, room_id: str, page: str) -> dict[str, Any]:
    """A frame with a page of a room; ``page`` is a JSON object."""
    head = encode({**_head("history", request_id), "roomId": room_id})
    return {"statusCode": 200, "body": f"{head[:-1]},{page[1:]}"}


def frame_error(request_id: str | None, error: Mapping[str, Any], **extra: Any) -> dict[str, Any]:
    """A frame that refuses; ``error`` is a body of the one error shape, ``extra`` such as the message's id."""
    return frame({**_head("error", request_id), **extra, "error": error})


def request_id_of(frame_body: Mapping[str, Any]) -> str | None:
    """The client's id of a frame, if it is one that can be sent back."""
    value = frame_body.get("requestId")
    if not isinstance(value, str) or not 0 < len(value) <= REQUEST_ID_LIMIT:
        return None
    return value.encode("utf-8", "replace").decode()


def _head(kind: str, request_id: str | None) -> dict[str, Any]:
    return {"type": kind} if request_id is None else {"type": kind, "requestId": request_id}
