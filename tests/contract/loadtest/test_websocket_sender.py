"""The load test's clients match answers to requests, report errors and resend events under the same ids."""

from __future__ import annotations

import json
import time

import pytest

from loadtest.checker.checker import Checker
from loadtest.client.chat_events import ChatEvent
from loadtest.client.target import Target
from loadtest.client.websocket import ConnectionLost, ConnectionRefused, NoAnswer, WebSocket
from loadtest.sending.retry import ATTEMPTS, RECONNECTIONS, open_patiently
from loadtest.sending.websocket_sender import WebSocketSender
from localstage.client.errors import HttpError, TokenRefused
from localstage.client.http_api import HttpApi
from localstage.client.running_stage import StageUrls, running_stage
from localstage.client.tokens import fetch_token
from tests.contract.loadtest.fake_stage import FakeStage


def events(count: int) -> list[ChatEvent]:
    return [
        ChatEvent("room/ü", f"id-{n}", f"2025-11-21T10:00:00.{n:06d}Z", "alice", f"text {n} \u2028 é")
        for n in range(count)
    ]


def at(stage: FakeStage) -> Target:
    return Target(stage.http_url, stage.websocket_url, stage.token_url)


def sender(
    stage: FakeStage, checker: Checker, timeout: float = 0.3, **options: bool
) -> tuple[WebSocket, WebSocketSender]:
    socket = at(stage).websocket("alice", "chat:write", timeout=timeout)
    socket.open()
    return socket, WebSocketSender(socket, checker, window=4, single=options.get("single", False), pause=lambda _: None)


def test_each_request_gets_the_answer_with_its_id(stage: FakeStage) -> None:
    with_id = {"action": "sendMessage", "requestId": "mine", "roomId": "r", "message": "m", "messageId": "i"}
    socket = at(stage).websocket("alice", "chat:write")
    socket.open()

    answer = socket.request({**with_id, "timestamp": "2025-11-21T10:00:00.000000Z"})
    socket.close()

    assert answer["type"] == "ack"
    assert answer["requestId"] == "mine"
    assert not socket.connected


def test_a_missing_answer_is_an_error_and_the_connection_stays_open(stage: FakeStage) -> None:
    stage.faults.silent_every = 1
    socket = at(stage).websocket("alice", "chat:write", timeout=0.2)
    socket.open()

    with pytest.raises(NoAnswer):
        socket.request({"action": "sendBatch", "events": []})
    assert socket.connected
    socket.close()


def test_a_closed_connection_is_reported_with_its_code(stage: FakeStage) -> None:
    stage.faults.cut_every = 1
    socket = at(stage).websocket("alice", "chat:write")
    socket.open()

    with pytest.raises(ConnectionLost, match="1011"):
        socket.request({"action": "sendBatch", "requestId": "another", "events": []})
    with pytest.raises(ConnectionLost, match="not open"):
        socket.send("{}")


def test_an_invalid_token_is_refused_without_a_retry(stage: FakeStage) -> None:
    socket = WebSocket(stage.websocket_url, lambda: "refused")

    with pytest.raises(ConnectionRefused, match="401"):
        socket.open()


def test_an_address_without_a_listener_is_named() -> None:
    with pytest.raises(ConnectionLost, match="cannot be reached"):
        WebSocket("ws://127.0.0.1:1/local", lambda: "x").open()
    with pytest.raises(TokenRefused, match="no token for alice") as refused:
        fetch_token("http://127.0.0.1:1/token?secret=s3cret", "alice", [])
    assert "http://127.0.0.1:1/token " in str(refused.value)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("fault", ["silent_every", "cut_every", "later_every", "unmatched_every", "expired_every"])
@pytest.mark.parametrize("single", [True, False])
def test_every_event_is_accepted_despite_failed_answers(stage: FakeStage, fault: str, single: bool) -> None:
    setattr(stage.faults, fault, 5)
    checker = Checker()
    socket, sending = sender(stage, checker, single=single)

    for event in events(30):
        sending.send([event])
    sending.finish()
    socket.close()

    verdict = checker.verdict()
    assert (verdict.accepted, verdict.refused, verdict.unanswered) == (30, 0, 0)
    assert len(stage.rows["room/ü"]) == 30


def test_a_connection_is_tried_again_while_the_stage_does_not_take_it(stage: FakeStage) -> None:
    there = at(stage).websocket("alice", "chat:write")
    away = WebSocket("ws://127.0.0.1:1/local", lambda: "x")
    refused = WebSocket(stage.websocket_url, lambda: "refused")
    pauses = list[float]()

    open_patiently(there, pauses.append)
    assert (there.connected, pauses) == (True, [])
    with pytest.raises(ConnectionLost):
        open_patiently(away, pauses.append)
    assert len(pauses) == RECONNECTIONS - 1
    with pytest.raises(ConnectionRefused):
        open_patiently(refused, pauses.append)
    assert len(pauses) == RECONNECTIONS - 1
    there.close()


def test_an_expired_token_is_replaced_by_a_new_connection(stage: FakeStage) -> None:
    stage.faults.expired_every = 10
    checker = Checker()
    socket, sending = sender(stage, checker, single=True)

    for event in events(30):
        sending.send([event])
    sending.finish()
    socket.close()

    assert stage.connections == checker.reconnections + 1 >= 4
    assert checker.retries["token_expired"] >= 3
    assert checker.verdict().accepted == 30


def test_latency_counts_from_the_time_at_which_a_frame_was_due(stage: FakeStage) -> None:
    checker = Checker()
    socket, sending = sender(stage, checker, single=True)

    sending.send(events(1), due=time.perf_counter() - 5.0)
    sending.finish()
    socket.close()

    p50 = checker.verdict().acks.p50
    assert p50 is not None
    assert p50 >= 5.0


def test_events_without_an_answer_are_unanswered_and_counted(stage: FakeStage) -> None:
    stage.faults.silent_every = 1
    checker = Checker()
    socket, sending = sender(stage, checker, timeout=0.05)

    sending.send(events(3))
    sending.finish()
    socket.close()

    verdict = checker.verdict()
    assert (verdict.accepted, verdict.unanswered) == (0, 3)
    assert checker.errors == {"no_answer": 3}
    assert stage.frames == ATTEMPTS


def test_a_room_is_read_page_by_page_from_newest_to_oldest(stage: FakeStage) -> None:
    socket, sending = sender(stage, Checker())
    sending.send(events(95))
    sending.finish()
    socket.close()
    reader = at(stage).reader()

    pages = list(reader.walk_room("room/ü", limit=40))
    window = list(reader.walk_room("room/ü", start="2025-11-21T10:00:00.000010Z", end="2025-11-21T10:00:00.000012Z"))
    reader.close()

    assert [len(page) for page in pages] == [40, 40, 15]
    assert [item["messageId"] for page in pages for item in page] == [f"id-{n}" for n in reversed(range(95))]
    assert [item["messageId"] for page in window for item in page] == ["id-11", "id-10"]


def test_an_invalid_cursor_ends_the_walk_with_an_error(stage: FakeStage) -> None:
    stage.faults.bad_cursor = True
    socket, sending = sender(stage, Checker())
    sending.send(events(50))
    sending.finish()
    socket.close()
    reader = at(stage).reader()

    with pytest.raises(HttpError, match="bad_page"):
        list(reader.walk_room("room/ü", limit=20))
    reader.close()


def test_a_request_without_a_token_is_not_retried(stage: FakeStage) -> None:
    api = HttpApi(stage.http_url)

    with pytest.raises(HttpError) as refused:
        api.room_page("room")
    api.close()

    assert (refused.value.status, refused.value.retryable) == (401, False)


def test_the_stage_file_of_an_ended_stage_is_ignored(tmp_path) -> None:
    file = tmp_path / "stage.json"
    urls = {"http_url": "h", "websocket_url": "w", "token_url": "t"}

    assert running_stage(file) is None
    file.write_text("{")
    assert running_stage(file) is None
    file.write_text(json.dumps({"pid": 2**22 + 1, **urls}))
    assert running_stage(file) is None
    file.write_text(json.dumps({"pid": 1, **urls}))
    assert running_stage(file) in (StageUrls("h", "w", "t"), None)
