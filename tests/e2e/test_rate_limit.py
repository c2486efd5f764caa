"""A stage whose limit on senders is low: what is refused, and how the Python client gets everything through."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faults.template import write_template
from headrace_client import Sender, Tempo, over_http, over_websocket
from tests.e2e.clients import Client, message, unique
from tests.e2e.conftest import ROOT, RunningStage, fresh_stage

RATE = 20
MOST = 5 * RATE
TEMPO = Tempo(first_rate=200.0, increase=2.0)


@pytest.fixture(scope="module")
def limited() -> Iterator[RunningStage]:
    """The platform with a low limit on senders."""
    template = write_template(ROOT / ".local" / "e2e" / "limited-template", {"EventRate": str(RATE)})
    stage = fresh_stage("limited", template)
    try:
        yield stage.wait_ready()
    finally:
        stage.stop()


def test_what_is_beyond_a_senders_rate_is_refused_with_ids_and_a_time_to_come_back(limited: RunningStage) -> None:
    client, room = Client(limited), unique("room")
    events = [message(room, f"n{number}") for number in range(MOST + 10)]

    status, body, _ = client.http("POST", "/messages/batch", {"events": events})
    refused = body["results"][MOST:]
    assert status == 202
    assert [each["lane"] for each in body["results"][:MOST]] == ["main"] * MOST
    assert [each["messageId"] for each in refused] == [each["messageId"] for each in events[MOST:]]
    assert {each["error"]["code"] for each in refused} == {"rate_limited"}

    status, body, headers = client.http("POST", f"/rooms/{room}/messages", message(room, "one more"))
    assert (status, body["error"]["code"]) == (429, "rate_limited")
    assert int(headers["retry-after"]) == body["error"]["retryAfter"] >= 1

    # Over a WebSocket it is the same sender, although another function answers: at the latest when both have told.
    socket, answers = client.connect(), []
    while not answers or answers[-1]["type"] != "error":
        answers.append(socket.request({"action": "sendMessage", "requestId": unique("r"), **message(room, "frame")}))
        assert len(answers) <= MOST
    assert answers[-1]["error"]["code"] == "rate_limited"
    assert answers[-1]["error"]["retryAfter"] >= 1

    other = Client(limited)
    assert other.http("POST", f"/rooms/{room}/messages", message(room, "somebody else"))[0] == 202
    importer = Client(limited, None, "events:write", "chat:read")
    events = [message(room, f"i{number}") for number in range(MOST + 10)]
    _, body, _ = importer.http("POST", "/messages/batch", {"events": events})
    assert {each.get("lane") for each in body["results"]} == {"main"}


@pytest.mark.parametrize("way", [over_http, over_websocket])
async def test_the_python_client_gets_every_message_through_once(limited: RunningStage, way: object) -> None:
    client, room = Client(limited), unique("room")
    if way is over_http:
        sender: Sender = over_http(limited.where["http_url"], lambda: client.token, TEMPO)
    else:
        sender = over_websocket(limited.where["websocket_url"], lambda: client.token, TEMPO)
    events = [{"roomId": room, "message": f"n{number}"} for number in range(2 * MOST)]

    async with sender:
        sent = await sender.send(events)

    assert all(each.is_accepted for each in sent)
    found = client.wait_for(room, len(events))
    assert sorted(each["message"] for each in found) == sorted(each["message"] for each in events)
    assert sender.pace.rate < TEMPO.first_rate, "it was refused, and slowed down"
