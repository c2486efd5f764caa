"""Messages of a client are acknowledged, stored and read back over both protocols."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.e2e.clients import Client, message, now, unique
from tests.e2e.conftest import RunningStage


def test_a_frame_is_acknowledged_and_its_message_is_read_back_unchanged(platform: RunningStage) -> None:
    alice, room = Client(platform), unique("room")
    sent = message(room, 'grüße, 世界 \u0007\u202e 👩‍👩‍👧 <b>\\n"')

    ack = alice.connect().request({"action": "sendMessage", "requestId": "r1", **sent})

    assert ack.pop("correlationId")
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


def test_a_batch_frame_answers_one_result_per_event_in_order(
    platform: RunningStage,
) -> None:
    """One bad event does not affect the results of the others."""
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


def test_p12_reusing_anothers_id_and_time_leaves_their_message_unchanged(platform: RunningStage) -> None:
    alice, mallory, room = Client(platform), Client(platform), unique("room")
    sent = message(room, "what alice said")
    alice.connect().request({"action": "sendMessage", **sent})

    mallory.connect().request({"action": "sendMessage", **sent, "message": "what mallory wants her to have said"})

    said = {item["userId"]: item["message"] for item in alice.wait_for(room, 2)}
    assert said == {alice.user: "what alice said", mallory.user: "what mallory wants her to have said"}


def test_health_reports_every_dependency_as_available(platform: RunningStage) -> None:
    client = Client(platform)
    client.token = ""

    status, body, _ = client.http("GET", "/health")

    assert (status, body["status"]) == (200, "ok")
    assert set(body["parts"].values()) == {"ok"}


def test_a_stranger_does_not_use_up_the_rate_of_health(platform: RunningStage) -> None:
    stranger, monitor = Client(platform), Client(platform)
    stranger.token = monitor.token = ""
    with ThreadPoolExecutor(4) as at_once:
        list(at_once.map(lambda _: stranger.http("GET", "/health"), range(400)))

    assert monitor.http("GET", "/health")[0] == 200
