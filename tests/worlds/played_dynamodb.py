"""DynamoDB clients with scripted responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from headrace.aws.client import AwsClient, Connections
from headrace.aws.http_client import Response

Played = tuple[int, dict[str, Any] | bytes]
Play = Callable[[dict[str, Any]], Played | None]


def play_responses(client: AwsClient, play: Play) -> list[dict[str, Any]]:
    """Let ``play`` answer the client's calls; ``None`` sends the call. Returns a list that collects all bodies."""
    player = _Player(client.http, play)
    client.http = player
    return player.calls


class _Player:
    def __init__(self, http: Connections, play: Play) -> None:
        self._http = http
        self._play = play
        self.calls: list[dict[str, Any]] = []

    def send(self, request: bytes, seconds: float, *, repeatable: bool) -> Response:
        body = json.loads(request.partition(b"\r\n\r\n")[2])
        self.calls.append(body)
        response = self._play(body)
        if response is None:
            return self._http.send(request, seconds, repeatable=repeatable)
        status, content = response
        return Response(status, b"", content if isinstance(content, bytes) else json.dumps(content).encode())


def refusal(code: str, status: int = 400) -> Played:
    """An error response of DynamoDB."""
    return status, {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no"}
