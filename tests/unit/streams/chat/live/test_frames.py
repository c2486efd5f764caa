"""The frames that send messages: acks, results and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headrace.api.responses import FRAME_BYTES
from tests.worlds.senders import NOW, message
from tests.worlds.write_path import WritePath, frame_event


def answered(write_path: WritePath, body: object, action: str = "sendMessage", **event: Any) -> dict[str, Any]:
    answer = write_path.frame(action, frame_event(body, **event))
    assert answer["statusCode"] == 200
    return dict(json.loads(answer["body"]))


def test_a_message_is_answered_with_an_ack() -> None:
    answer = answered(WritePath(), message(action="sendMessage", requestId="7"))

    assert answer == {
        "type": "ack",
        "requestId": "7",
        "roomId": "kitchen",
        "messageId": "m-1",
        "timestamp": NOW,
        "lane": "main",
        "correlationId": "r-1",
    }


def test_a_batch_is_answered_with_one_result_per_event_in_order() -> None:
    events = [message(messageId="1"), {"messageId": "2"}, message(messageId="3")]

    answer = answered(WritePath(), {"action": "sendBatch", "requestId": "8", "events": events}, "sendBatch")

    assert (answer["type"], answer["requestId"]) == ("acks", "8")
    assert [result["messageId"] for result in answer["results"]] == ["1", "2", "3"]
    assert answer["results"][1]["error"]["code"] == "invalid_event"
    assert answer["results"][2]["lane"] == "main"


def test_the_answer_to_an_entirely_invalid_batch_fits_one_frame() -> None:
    wrong = {f"field{number}": "\U0001f600" * 64 for number in range(7)}
    events = [{"messageId": "\U0001f600" * 128, **wrong} for _ in range(100)]
    frame = frame_event({"action": "sendBatch", "requestId": "\U0001f600" * 128, "events": events})

    text = WritePath().frame("sendBatch", frame)["body"]

    assert len(text.encode()) <= FRAME_BYTES
    assert {len(result["error"]["details"]) for result in json.loads(text)["results"]} == {0}


def test_a_ping_is_answered_with_the_time() -> None:
    answer = answered(WritePath(), {"action": "ping"}, "ping")

    assert answer == {
        "type": "pong",
        "time": NOW,
        "tokenExpiresAt": "2100-01-01T00:00:00.000000Z",
        "correlationId": "r-1",
    }


def test_a_refused_message_is_answered_with_its_ids() -> None:
    answer = answered(WritePath(), message(requestId="9", roomId="a#b"))

    assert (answer["type"], answer["requestId"], answer["messageId"]) == ("error", "9", "m-1")
    assert answer["error"]["details"][0]["field"] == "roomId"


def test_an_unavailable_platform_is_an_error_with_the_id_to_retry_with() -> None:
    write_path = WritePath()
    write_path.broker.down = write_path.retry.down = True

    answer = answered(write_path, message())

    assert answer["error"]["code"] == "unavailable"
    assert answer["error"]["retryAfter"]
    assert (answer["messageId"], answer["timestamp"]) == ("m-1", NOW)


@pytest.mark.parametrize(
    ("body", "action", "code", "field"),
    [
        ("{", "$default", "invalid_request", None),
        ("", "$default", "invalid_request", None),
        ("[" * 100_000, "$default", "invalid_request", None),
        ("[]", "$default", "invalid_request", "frame"),
        ({"action": "dance"}, "$default", "invalid_request", "action"),
        ({}, "$default", "invalid_request", "action"),
        ({"action": "sendBatch"}, "sendBatch", "invalid_request", "events"),
        ({"events": []}, "sendBatch", "invalid_request", "events"),
        ({"events": {}}, "sendBatch", "invalid_request", "events"),
        ({"events": [{}] * 101}, "sendBatch", "too_large", "events"),
    ],
)
def test_a_frame_that_cannot_be_used_is_an_error_that_names_the_field(
    body: object, action: str, code: str, field: str | None
) -> None:
    write_path = WritePath()

    answer = answered(write_path, body, action)

    assert answer["type"] == "error"
    assert answer["error"]["code"] == code
    assert [detail["field"] for detail in answer["error"]["details"]] == ([field] if field else [])
    assert write_path.broker.bodies() == []


def test_scopes_are_read_with_the_prefix_of_the_stage() -> None:
    write_path = WritePath()

    for scope, kind in (("headrace/chat:write", "ack"), ("chat:write", "error")):
        answer = write_path.frame("sendMessage", frame_event(message(), scope=scope), "headrace/")
        assert json.loads(answer["body"])["type"] == kind


@pytest.mark.parametrize("request_id", [7, -1.5, 0, "", "x" * 128, "7", 10**127])
def test_a_request_id_comes_back_as_it_was_sent(request_id: object) -> None:
    """A client that numbers its requests would wait forever for an answer without its number."""
    for frame, kind in (({}, "pong"), ({"x": 1}, "error")):
        answer = answered(WritePath(), {"requestId": request_id} | frame, "ping")

        assert (answer["type"], answer["requestId"]) == (kind, request_id)
        assert type(answer["requestId"]) is type(request_id)


@pytest.mark.parametrize("request_id", ["x" * 129, 10**128, True, [], {}])
def test_a_request_id_that_cannot_be_sent_back_is_refused_by_name(request_id: object) -> None:
    write_path = WritePath()

    answer = answered(write_path, message(action="sendMessage", requestId=request_id))

    assert answer["error"]["code"] == "invalid_request"
    assert answer["error"]["details"][0]["field"] == "requestId"
    assert "requestId" not in answer
    assert write_path.published() == []


def test_a_request_id_of_null_is_none() -> None:
    assert "requestId" not in answered(WritePath(), {"requestId": None}, "ping")


@pytest.mark.parametrize("name", ["action", "requestId", "events", "roomId", "x"])
def test_a_number_beyond_all_bounds_is_answered_in_valid_json(name: str) -> None:
    """``1e999`` is valid JSON, and ``Infinity`` is not."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    for action in ("sendMessage", "sendBatch", "ping"):
        answer = WritePath().frame(action, frame_event(f'{{"{name}": 1e999}}'))

        json.loads(answer["body"], parse_constant=refuse)


def test_an_unknown_field_of_a_frame_is_refused_by_name() -> None:
    for action, frame in (
        ("sendMessage", message(messageid="m")),
        ("sendBatch", {"events": [message()], "messageid": "m"}),
        ("ping", {"messageid": "m"}),
    ):
        write_path = WritePath()

        error = answered(write_path, {"action": action, **frame}, action)["error"]

        assert error["details"][0]["field"] == "messageid", action
        assert write_path.published() == []


def test_an_unknown_field_of_an_event_in_a_batch_refuses_this_event_alone() -> None:
    events = [message(messageid="m"), message(messageId="m-2")]

    first, second = answered(WritePath(), {"events": events}, "sendBatch")["results"]

    (detail,) = first["error"]["details"]
    fields = "roomId, message, messageId, timestamp, messageType, userId, username, memberId, memberName"
    assert detail.pop("allowed").startswith(fields), "features add others"
    assert detail == {"field": "messageid", "message": "is not a field of this event", "got": "m"}
    assert second["lane"] == "main"


def test_an_error_has_the_correlation_id_of_the_log() -> None:
    for frame in (message(roomId="#"), {"x": 1}):
        assert answered(WritePath(), frame)["error"]["correlationId"] == "r-1"


def test_no_text_of_a_message_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    write_path = WritePath()
    write_path.broker.down = write_path.retry.down = True

    answered(write_path, message(message="our secret"))
    answered(write_path, message(message="our secret", roomId="#"))

    assert "our secret" not in capsys.readouterr().out
