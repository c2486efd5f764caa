"""A store on the real client, with a service whose answers are played."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from botocore.awsrequest import AWSResponse

from headrace.storage.dynamodb.batch_writer import DynamoStore, dynamodb_client

Play = Callable[[dict[str, Any]], tuple[int, dict[str, Any]] | None]


class Played:
    """A store whose service's answers are played: ``None`` lets a call through to the emulator."""

    def __init__(self, play: Play, retry_seconds: float = 3.0) -> None:
        self.calls: list[dict[str, Any]] = []
        self._play = play
        self.store = DynamoStore(parallel=4, retry_seconds=retry_seconds, make_client=self._client)

    def _client(self, connections: int) -> Any:
        made = dynamodb_client(connections)
        for call in ("BatchWriteItem", "BatchGetItem"):
            made.meta.events.register(f"before-send.dynamodb.{call}", self._before_send)
        return made

    def _before_send(self, request: Any, **_: Any) -> AWSResponse | None:
        body = json.loads(request.body)
        self.calls.append(body)
        answer = self._play(body)
        if answer is None:
            return None
        status, content = answer
        return AWSResponse(request.url, status, {"content-type": "application/x-amz-json-1.0"}, _Raw(content))


class _Raw:
    def __init__(self, content: dict[str, Any]) -> None:
        self._content = json.dumps(content).encode()

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        yield self._content


def refusal(code: str, status: int = 400) -> tuple[int, dict[str, Any]]:
    return status, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no"}
