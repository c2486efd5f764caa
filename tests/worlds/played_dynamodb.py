"""DynamoDB clients with scripted responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from headrace.runtime.aws import AwsClient

Played = tuple[int, dict[str, Any] | bytes]
Play = Callable[[dict[str, Any]], Played | None]


def play_responses(client: AwsClient, play: Play) -> list[dict[str, Any]]:
    """Let ``play`` answer the client's calls; ``None`` sends the call. Returns a list that collects all bodies."""
    calls: list[dict[str, Any]] = []

    def answered(request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
        body = json.loads(request.body)
        calls.append(body)
        response = play(body)
        if response is None:
            return None
        status, content = response
        if isinstance(content, bytes):
            return AWSResponse(request.url, status, {}, _Raw(content))
        return AWSResponse(request.url, status, {"x-amzn-requestid": "1"}, _Raw(json.dumps(content).encode()))

    client.meta.events.register_first("before-send.dynamodb", answered)
    # With a proxy, the hot calls take the client's way too.
    client.meta.config.proxies = {"http": "none"}
    return calls


class _Raw(BytesIO):
    def stream(self) -> list[bytes]:
        return [self.read()]


def refusal(code: str, status: int = 400) -> Played:
    """An error response of DynamoDB."""
    return status, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no"}
