"""A stage with low limits refuses excess events, which the Python client sends again, and excess requests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

from faults.harness.stage_template import write_template
from headrace.live.routes import CONNECTIONS_PER_ROOM, CONNECTIONS_PER_USER
from headrace_client import Sender, SendSettings, over_http, over_websocket
from loadtest.client.websocket import ConnectionLost
from tests.e2e.clients import Client, message, unique, until
from tests.e2e.conftest import ROOT, RunningStage, fresh_stage

RATE = 20
MOST = 5 * RATE
SETTINGS = SendSettings(first_rate=200.0, increase=2.0)


@pytest.fixture(scope="module")
def limited() -> Iterator[RunningStage]:
    """The platform with a low limit on senders, and on rooms and members: 3 per second."""
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


def test_senders_are_limited_separately_and_trusted_producers_are_not(limited: RunningStage) -> None:
    room = unique("room")
    too_many(Client(limited), room)

    assert Client(limited).http("POST", f"/rooms/{room}/messages", message(room, "another sender"))[0] == 202
    importer = Client(limited, None, "events:write", "chat:read")
    assert all("lane" in each for each in too_many(importer, room)["results"])


@pytest.mark.parametrize("way", [over_http, over_websocket])
async def test_the_python_client_delivers_every_message_once(limited: RunningStage, way: object) -> None:
    client, room = Client(limited), unique("room")
    if way is over_http:
        sender: Sender = over_http(limited.where["http_url"], lambda: client.token, SETTINGS)
    else:
        sender = over_websocket(limited.where["websocket_url"], lambda: client.token, SETTINGS)
    events = [{"roomId": room, "message": f"n{number}"} for number in range(2 * MOST)]

    async with sender:
        sent = await sender.send(events)

    assert all(each.is_accepted for each in sent)
    found = client.wait_for(room, len(events))
    assert sorted(each["message"] for each in found) == sorted(each["message"] for each in events)
    if way is over_http:  # the first request held all events
        assert sender.pace.rate < SETTINGS.first_rate, "the client did not slow down"


def test_a_user_creates_rooms_and_adds_others_at_a_limited_rate(limited: RunningStage) -> None:
    client, room = Client(limited), unique("room")

    made = [client.http("PUT", f"/rooms/{room}-{number}", {"kind": "members"}) for number in range(30)]
    created = [status for status, _, _ in made].index(429)
    added = [client.http("PUT", f"/rooms/{room}-0/members/{unique('other')}", {}) for _ in range(30)]

    for kind, answers in (("rooms", made), ("members", added)):
        status, body, headers = next(each for each in answers if each[0] == 429)
        assert {each[0] for each in answers} == {200, 429}
        assert (status, body["error"]["code"]) == (429, "rate_limited")
        assert int(headers["retry-after"]) == body["error"]["retryAfter"] >= 1
        assert headers["ratelimit-policy"] == f'"{kind}";q=15;w=5'
    assert created >= 15
    assert Client(limited).http("PUT", f"/rooms/{unique('room')}", {"kind": "open"})[0] == 200


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
