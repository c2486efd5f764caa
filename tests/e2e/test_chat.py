"""Chat from frame to row to page, as a client sees it."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from loadtest.client import ConnectionLost, ConnectionRefused
from tests.e2e.clients import Client, unique, until
from tests.e2e.conftest import RunningStage


def now(**offset: float) -> str:
    return (datetime.now(UTC) + timedelta(**offset)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def message(room: str, text: str = "hello", **more: Any) -> dict[str, Any]:
    return {"roomId": room, "message": text, "messageId": unique("m"), "timestamp": now(), **more}


def test_a_frame_is_acknowledged_and_then_read_back_word_for_word(platform: RunningStage) -> None:
    alice, room = Client(platform), unique("room")
    sent = message(room, 'grüße, 世界 \u0007\u202e 👩‍👩‍👧 <b>\\n"')

    ack = alice.connect().request({"action": "sendMessage", "requestId": "r1", **sent})

    assert ack == {
        "type": "ack",
        "requestId": "r1",
        "roomId": room,
        "messageId": sent["messageId"],
        "timestamp": sent["timestamp"],
        "lane": "main",
    }
    (item,) = alice.wait_for(room, 1)
    assert item["message"] == sent["message"]
    assert (item["userId"], item["messageId"], item["timestamp"]) == (alice.user, sent["messageId"], sent["timestamp"])


def test_a_batch_frame_answers_one_result_per_event_in_order_and_one_bad_event_hides_no_other(
    platform: RunningStage,
) -> None:
    alice, room = Client(platform), unique("room")
    events = [message(room, f"text {n}") for n in range(5)]
    events[2]["roomId"] = "with#mark"

    answer = alice.connect().request({"action": "sendBatch", "requestId": "b", "events": events})

    results = answer["results"]
    assert [result.get("messageId") for result in results] == [event["messageId"] for event in events]
    assert [result.get("lane", result.get("error", {}).get("code")) for result in results] == [
        "main",
        "main",
        "invalid_event",
        "main",
        "main",
    ]
    assert results[2]["error"]["details"][0]["field"] == "roomId"
    stored = alice.wait_for(room, 4)
    assert [item["message"] for item in stored] == ["text 4", "text 3", "text 1", "text 0"]


def test_messages_over_http_are_accepted_with_202_one_by_one_and_in_batches(platform: RunningStage) -> None:
    alice, room = Client(platform), unique("room")

    status, one, _ = alice.http("POST", f"/rooms/{room}/messages", {"message": "one"})
    batch_status, batch, _ = alice.http("POST", "/messages/batch", {"events": [message(room, "two"), message(room)]})

    assert (status, batch_status) == (202, 202)
    assert [result["lane"] for result in one["results"] + batch["results"]] == ["main"] * 3
    assert one["results"][0]["messageId"]
    assert len(alice.wait_for(room, 3)) == 3


def test_p3_the_same_event_sent_again_is_one_row(platform: RunningStage) -> None:
    alice, room = Client(platform), unique("room")
    sent, marker = message(room, "once"), message(room, "marker", timestamp=now(seconds=1))
    socket = alice.connect()

    for _ in range(3):
        assert socket.request({"action": "sendMessage", **sent})["type"] == "ack"
    alice.http("POST", "/messages/batch", {"events": [sent, sent, marker]})

    alice.wait_for(room, 2)
    assert [item["message"] for item in alice.room(room)] == ["marker", "once"]


def test_p12_someone_elses_id_and_time_change_nothing_of_theirs(platform: RunningStage) -> None:
    alice, mallory, room = Client(platform), Client(platform), unique("room")
    sent = message(room, "what alice said")
    alice.connect().request({"action": "sendMessage", **sent})

    mallory.connect().request({"action": "sendMessage", **sent, "message": "what mallory wants her to have said"})

    said = {item["userId"]: item["message"] for item in alice.wait_for(room, 2)}
    assert said == {alice.user: "what alice said", mallory.user: "what mallory wants her to have said"}


def test_pages_walk_back_through_a_room_and_forth_again(platform: RunningStage) -> None:
    alice, room = Client(platform), unique("room")
    start = datetime.now(UTC) - timedelta(minutes=5)
    stamps = [(start + timedelta(milliseconds=n)).strftime("%Y-%m-%dT%H:%M:%S.%fZ") for n in range(45)]
    events = [message(room, f"n{n}", timestamp=stamp) for n, stamp in enumerate(stamps)]
    alice.http("POST", "/messages/batch", {"events": events})
    alice.wait_for(room, 45)

    pages, cursor = [], None
    while True:
        query = {"limit": "20"} | ({"before": cursor} if cursor else {})
        _, page, _ = alice.http("GET", f"/rooms/{room}/messages", **query)
        pages.append(page)
        cursor = page["next"]
        if not page["hasMore"]:
            break
    _, newer, _ = alice.http("GET", f"/rooms/{room}/messages", limit="40", after=pages[-1]["previous"])
    _, ranged, _ = alice.http("GET", f"/rooms/{room}/messages", **{"from": stamps[10], "to": stamps[13]})

    assert [len(page["items"]) for page in pages] == [20, 20, 5]
    assert [item["message"] for page in pages for item in page["items"]] == [f"n{n}" for n in range(44, -1, -1)]
    assert [item["message"] for item in newer["items"]] == [f"n{n}" for n in range(44, 4, -1)]
    assert [item["message"] for item in ranged["items"]] == ["n12", "n11", "n10"]


def test_a_users_history_crosses_rooms(platform: RunningStage) -> None:
    alice, rooms = Client(platform), [unique("room"), unique("room")]
    for room in rooms:
        alice.http("POST", f"/rooms/{room}/messages", {"message": f"in {room}"})

    def history() -> Any:
        return alice.http("GET", f"/users/{alice.user}/messages")[1]["items"]

    items = until(history, lambda found: len(found) == 2)
    assert [item["roomId"] for item in items] == rooms[::-1]


BAD_FRAMES: dict[str, tuple[str, str, str | None]] = {
    "not JSON": ("{not json", "invalid_request", None),
    "JSON, but no object": ("[1, 2]", "invalid_request", None),
    "no action": ('{"roomId": "r"}', "invalid_request", "action"),
    "an unknown action": ('{"action": "dance", "requestId": "x"}', "invalid_request", "action"),
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
def test_a_bad_frame_gets_its_error_and_the_connection_stays_open(
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


def test_nothing_of_a_refused_event_is_ever_published(platform: RunningStage) -> None:
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


def forged_token(platform: RunningStage) -> str:
    """A token with the right claims and key id, signed by someone else."""
    good = platform.token("alice", "chat:write", "chat:read")
    claims = jwt.decode(good, options={"verify_signature": False})
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return jwt.encode(claims, key, algorithm="RS256", headers={"kid": jwt.get_unverified_header(good)["kid"]})


def test_connecting_needs_a_token_that_is_ours_still_good_and_has_a_scope(platform: RunningStage) -> None:
    expired, scopeless, forged, none = (Client(platform) for _ in range(4))
    expired.token = platform.token("alice", "chat:write", ttl=1)
    scopeless.token = platform.token("alice", "analytics:read")
    forged.token = forged_token(platform)
    none.token = "nonsense"
    until(
        lambda: jwt.decode(expired.token, options={"verify_signature": False})["exp"],
        lambda exp: exp < datetime.now(UTC).timestamp(),
    )

    for client, status in ((expired, "401"), (scopeless, "403"), (forged, "401"), (none, "401")):
        with pytest.raises(ConnectionRefused, match=status):
            client.connect()


def test_a_token_that_expires_while_connected_stops_frames_but_not_the_connection(platform: RunningStage) -> None:
    alice = Client(platform, None, "chat:write", "chat:read", ttl=2)
    socket, room = alice.connect(), unique("room")
    assert socket.request({"action": "sendMessage", **message(room)})["type"] == "ack"

    def answer() -> Any:
        return socket.request({"action": "sendMessage", **message(room)})

    refused = until(answer, lambda found: found["type"] == "error")

    assert refused["error"]["code"] == "token_expired"
    assert socket.request({"action": "ping"})["type"] in ("pong", "error")
    assert socket.connected


def test_a_token_without_the_scope_is_told_which_one_is_missing(platform: RunningStage) -> None:
    reader, writer, room = Client(platform, None, "chat:read"), Client(platform, None, "chat:write"), unique("room")

    frame = reader.connect().request({"action": "sendMessage", **message(room)})

    assert frame["error"]["code"] == "forbidden"
    assert reader.http("POST", f"/rooms/{room}/messages", {"message": "x"})[0] == 403
    assert writer.http("GET", f"/rooms/{room}/messages")[0] == 403
    assert Client(platform).room(room) == []


def test_http_without_a_token_or_with_a_forged_one_is_401(platform: RunningStage) -> None:
    client = Client(platform)

    for token in ("", forged_token(platform), "nonsense"):
        client.token = token
        assert client.http("GET", "/rooms/r/messages")[0] == 401


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
def test_a_bad_body_is_a_400_in_the_one_error_shape(platform: RunningStage, body: bytes, status: int) -> None:
    answered, error, _ = Client(platform).http("POST", "/rooms/r/messages", body)

    assert answered == status
    assert set(error["error"]) == {"code", "message", "details"}


def test_ids_in_any_script_reach_their_room(platform: RunningStage) -> None:
    alice, room = Client(platform), unique("кафе ☕ 部屋")

    alice.connect().request({"action": "sendMessage", **message(room, "schön hier", messageId="идентификатор 1")})

    (item,) = alice.wait_for(room, 1)
    assert (item["roomId"], item["messageId"]) == (room, "идентификатор 1")


def test_health_says_that_every_part_is_there(platform: RunningStage) -> None:
    client = Client(platform)
    client.token = ""

    status, body, _ = client.http("GET", "/health")

    assert (status, body["status"]) == (200, "ok")
    assert set(body["parts"].values()) == {"ok"}


def test_nothing_private_is_logged(platform: RunningStage) -> None:
    alice, room, secret_text = Client(platform), unique("room"), unique("private-text")
    socket = alice.connect()
    socket.request({"action": "sendMessage", **message(room, secret_text)})
    socket.request({"action": "sendMessage", **message("bad#room", secret_text)})
    alice.http("POST", f"/rooms/{room}/messages", {"message": secret_text, "timestamp": now(hours=2)})
    alice.wait_for(room, 1)

    password = json.loads((platform.state_dir / "secrets.json").read_text())
    logs = "".join(path.read_text(errors="replace") for path in (platform.state_dir / "logs").glob("*.log"))
    logs += platform.output.read_text()

    assert secret_text not in logs
    assert alice.token not in logs
    assert alice.token.rpartition(".")[2] not in logs
    for private in _texts(password):
        assert private not in logs


def _texts(value: Any) -> list[str]:
    """The generated secrets in ``secrets.json``: every text long enough to be one."""
    if isinstance(value, dict):
        return [text for name, item in value.items() if name != "spec" for text in _texts(item)]
    return [value] if isinstance(value, str) and len(value) >= 20 and " " not in value and "{" not in value else []
