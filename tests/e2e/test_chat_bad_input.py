"""Invalid frames and events get an error answer and change nothing, and refusals are as they are described."""

from __future__ import annotations

import pytest

from tests.e2e.clients import Client, message, now, unique
from tests.e2e.conftest import RunningStage


def test_an_invalid_frame_gets_an_error_and_the_connection_stays_open(platform: RunningStage) -> None:
    socket = Client(platform).connect()

    for frame, code in (
        ("{not json", "invalid_request"),
        ('{"action": "sendMessage", "roomId": "r"}', "invalid_event"),
    ):
        socket.send(frame)
        answer = socket.receive()
        assert (answer["type"], answer["error"]["code"]) == ("error", code)
    assert socket.request({"action": "ping"})["type"] == "pong"


def test_refused_events_are_not_published(platform: RunningStage) -> None:
    alice, room = Client(platform), unique("room")
    socket = alice.connect()

    socket.request({"action": "sendMessage", **message(room, "too far ahead", timestamp=now(hours=1))})
    socket.request({"action": "sendMessage", **message(room, "good")})

    assert [item["message"] for item in alice.wait_for(room, 1)] == ["good"]


@pytest.mark.parametrize(
    ("path", "query", "body", "status"),
    [
        ("/rooms/%ff/messages", {}, None, 400),
        ("/messages/batch", {}, b" " * 12_000_000, 413),
        ("/rooms/lobby/messages", {"before": "x" * 11_000}, None, 414),
        ("/nowhere", {}, None, 404),
    ],
)
def test_a_refusal_of_api_gateway_is_as_it_is_described(
    platform: RunningStage, path: str, query: dict[str, str], body: bytes | None, status: int
) -> None:
    """The client compares each answer with the document, where the first two were missing."""
    found, answer, _ = Client(platform).http("GET" if body is None else "POST", path, body, **query)

    assert (found, list(answer)) == (status, ["message"])
