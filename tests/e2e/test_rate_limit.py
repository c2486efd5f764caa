"""A stage with a low limit refuses excess events, and excess connections of one user."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from faults.harness.stage_template import write_template
from headrace.live.routes import CONNECTIONS_PER_ROOM, CONNECTIONS_PER_USER
from loadtest.client.websocket import ConnectionLost
from tests.e2e.clients import Client, message, unique, until
from tests.e2e.conftest import ROOT, RunningStage, fresh_stage

RATE = 20
MOST = 5 * RATE


@pytest.fixture(scope="module")
def limited() -> Iterator[RunningStage]:
    """The platform with a low limit on senders."""
    limits = {"EventRate": str(RATE), "RequestRate": "300"}
    template = write_template(ROOT / ".local" / "e2e" / "limited-template", limits)
    stage = fresh_stage("limited", template)
    try:
        yield stage.wait_ready()
    finally:
        stage.stop(signal.SIGKILL)  # what it has is not used again


def too_many(client: Client, room: str) -> dict[str, Any]:
    """Send more in one batch than a window takes, so that the sender is limited for seconds; returns the answer."""
    events = [message(room, f"n{number}") for number in range(MOST + 10)]
    _, body, _ = client.http("POST", "/messages/batch", {"events": events})
    if "results" in body:  # not if the sender was over the limit before
        assert [each["messageId"] for each in body["results"]] == [each["messageId"] for each in events]
    return dict(body)


def test_events_beyond_a_senders_rate_are_refused_with_ids_and_retry_after(limited: RunningStage) -> None:
    client, room = Client(limited), unique("room")

    results = too_many(client, room)["results"]
    assert ["lane" in each for each in results] == [True] * MOST + [False] * 10
    assert {each["error"]["code"] for each in results[MOST:]} == {"rate_limited"}

    def one_more() -> tuple[int, Any, Any]:
        too_many(client, room)
        return client.http("POST", f"/rooms/{room}/messages", message(room, "one more"))

    status, body, headers = until(one_more, lambda answer: answer[0] != 202)
    assert (status, body["error"]["code"]) == (429, "rate_limited")
    assert int(headers["retry-after"]) == body["error"]["retryAfter"] >= 1
    assert "results" not in body, "nothing of it is read"


def test_a_senders_events_over_both_protocols_share_one_limit(limited: RunningStage) -> None:
    """A separate function receives each protocol."""
    client, room = Client(limited), unique("room")
    socket = client.connect()

    def frame() -> dict[str, Any]:
        too_many(client, room)
        return socket.request({"action": "sendMessage", "requestId": "r-1", **message(room, "frame")})

    answer = until(frame, lambda answer: answer["type"] != "ack")
    assert (answer["type"], answer["error"]["code"]) == ("error", "rate_limited")
    assert answer["requestId"] == "r-1"
    assert answer["error"]["retryAfter"] >= 1


def test_one_user_has_a_bounded_number_of_connections(limited: RunningStage) -> None:
    client, room = Client(limited), unique("room")
    sockets = [client.connect() for _ in range(CONNECTIONS_PER_USER)]
    frame = {"action": "subscribe", "requestId": "r", "roomId": room}

    answers = [socket.request(frame) for socket in sockets]

    assert [each["type"] for each in answers] == ["subscribed"] * CONNECTIONS_PER_ROOM + ["error"] * (
        CONNECTIONS_PER_USER - CONNECTIONS_PER_ROOM
    )
    assert answers[-1]["error"]["code"] == "rate_limited"
    assert answers[-1]["error"]["details"][0]["field"] == "roomId"
    with pytest.raises(ConnectionLost, match="429"):
        client.connect()
    assert Client(limited).connect().request(frame)["type"] == "subscribed"

    sockets[0].close()
    until(lambda: sockets[-1].request(frame)["type"], lambda kind: kind == "subscribed")
