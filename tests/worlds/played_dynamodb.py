"""DynamoDB clients with scripted responses, through the real botocore."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from botocore.awsrequest import AWSResponse

Response = tuple[int, dict[str, Any] | bytes]
Play = Callable[[dict[str, Any]], Response | None]


def play_responses(client: Any, play: Play) -> list[dict[str, Any]]:
    """Let ``play`` answer the client's calls; ``None`` sends the call. Returns a list that collects all bodies."""
    calls: list[dict[str, Any]] = []

    def before_send(request: Any, **_: Any) -> AWSResponse | None:
        body = json.loads(request.body)
        calls.append(body)
        response = play(body)
        if response is None:
            return None
        status, content = response
        return AWSResponse(request.url, status, {"content-type": "application/x-amz-json-1.0"}, _Raw(content))

    client.meta.events.register("before-send.dynamodb", before_send)
    return calls


class _Raw:
    def __init__(self, content: dict[str, Any] | bytes) -> None:
        self._content = content if isinstance(content, bytes) else json.dumps(content).encode()

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        yield self._content


def refusal(code: str, status: int = 400) -> Response:
    """An error response of DynamoDB."""
    return status, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no"}
