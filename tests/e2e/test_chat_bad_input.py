"""Invalid frames, bodies and cursors get an error answer and change nothing."""

from __future__ import annotations

import base64
import json

import pytest

from loadtest.client.websocket import ConnectionLost
from tests.e2e.clients import Client, message, now, unique
from tests.e2e.conftest import RunningStage

BAD_FRAMES: dict[str, tuple[str, str, str | None]] = {
    "not JSON": ("{not json", "invalid_request", None),
    "JSON, but no object": ("[1, 2]", "invalid_request", None),
    "no action": ('{"roomId": "r"}', "invalid_request", "action"),
    "an unknown action": ('{"action": "dance", "requestId": "x"}', "invalid_request", "action"),
    "an action beyond all numbers": ('{"action": 1e999, "requestId": "x"}', "invalid_request", "action"),
    "a field that no message has": (
        '{"action": "sendMessage", "roomId": "r", "message": "t", "messageid": "m"}',
        "invalid_event",
        "messageid",
    ),
    "a missing field": ('{"action": "sendMessage", "requestId": "x", "roomId": "r"}', "invalid_event", "message"),
    "a text over the limit": (
        json.dumps({"action": "sendMessage", "requestId": "x", "roomId": "r", "message": "é" * 2049}),
        "invalid_event",
        "message",
    ),
    "an id with a mark": (
        '{"action": "sendMessage", "requestId": "x", "roomId": "a#b", "message": "t"}',
        "invalid_event",
        "roomId",
    ),
    "a timestamp an hour ahead": (
        json.dumps({"action": "sendMessage", "roomId": "r", "message": "t", "timestamp": now(hours=1)}),
        "invalid_event",
        "timestamp",
    ),
    "a timestamp of last week": (
        json.dumps({"action": "sendMessage", "roomId": "r", "message": "t", "timestamp": now(days=-7)}),
        "invalid_event",
        "timestamp",
    ),
    "somebody else's user id": (
        '{"action": "sendMessage", "roomId": "r", "message": "t", "userId": "somebody"}',
        "invalid_event",
        "userId",
    ),
    "a batch of nothing": ('{"action": "sendBatch", "events": []}', "invalid_request", "events"),
    "a batch that is no array": ('{"action": "sendBatch", "events": {}}', "invalid_request", "events"),
    "a batch over the limit": (
        json.dumps({"action": "sendBatch", "events": [{"roomId": "r", "message": "t"}] * 101}),
        "too_large",
        "events",
    ),
}


@pytest.mark.parametrize(("frame", "code", "field"), BAD_FRAMES.values(), ids=BAD_FRAMES.keys())
def test_an_invalid_frame_gets_an_error_and_the_connection_stays_open(
    platform: RunningStage, frame: str, code: str, field: str | None
) -> None:
    socket = Client(platform).connect()

    socket.send(frame)
    answer = socket.receive()

    assert answer["type"] == "error"
    assert answer["error"]["code"] == code
    if field is not None:
        detail = answer["error"]["details"][0]
        assert detail["field"] == field
        assert detail["allowed"]
    assert answer.get("requestId") == ("x" if '"requestId"' in frame else None)
    assert socket.request({"action": "ping"})["type"] == "pong"


def test_refused_events_are_not_published(platform: RunningStage) -> None:
    alice, room = Client(platform), unique("room")
    socket = alice.connect()

    socket.request({"action": "sendMessage", **message(room, "too far ahead", timestamp=now(hours=1))})
    socket.request({"action": "sendMessage", **message(room, "good")})

    assert [item["message"] for item in alice.wait_for(room, 1)] == ["good"]


def test_a_frame_over_128_kb_closes_the_connection_with_1009(platform: RunningStage) -> None:
    socket = Client(platform).connect()

    socket.send(json.dumps({"action": "sendMessage", "message": "x" * 131_072}))

    with pytest.raises(ConnectionLost, match="1009"):
        socket.receive()


def test_a_forged_or_foreign_cursor_is_a_400(platform: RunningStage) -> None:
    alice, bob, room = Client(platform), Client(platform), unique("room")
    alice.http("POST", "/messages/batch", {"events": [message(room) for _ in range(3)]})
    alice.wait_for(room, 3)
    cursor = alice.http("GET", f"/rooms/{room}/messages", limit="1")[1]["next"]
    flipped = bytearray(base64.urlsafe_b64decode(cursor + "=="))
    flipped[-1] ^= 1
    forged = base64.urlsafe_b64encode(flipped).decode().rstrip("=")

    for client, path, query in (
        (alice, f"/rooms/{room}/messages", {"before": forged}),
        (alice, f"/rooms/{room}/messages", {"after": cursor}),
        (alice, f"/rooms/{unique('other')}/messages", {"before": cursor}),
        (bob, f"/rooms/{room}/messages", {"before": cursor}),
    ):
        status, body, _ = client.http("GET", path, **query)
        assert (status, body["error"]["code"]) == (400, "invalid_cursor")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{not json", 400),
        (b"[]", 400),
        (b"", 400),
        (b'{"message": 5}', 400),
        (b'{"message": "x", "messageId": ""}', 400),
    ],
)
def test_an_invalid_body_is_a_400_with_the_standard_error_shape(
    platform: RunningStage, body: bytes, status: int
) -> None:
    answered, error, _ = Client(platform).http("POST", "/rooms/r/messages", body)

    assert answered == status
    assert set(error["error"]) == {"code", "message", "details", "correlationId"}


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
