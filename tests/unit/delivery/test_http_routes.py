"""The HTTP routes that accept messages: statuses, bodies and refusals."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.worlds.requests import http_event
from tests.worlds.senders import NOW, message
from tests.worlds.write_path import BATCH_POST, ROOM_POST, WritePath

TEXT = {"message": "hello", "messageId": "m-1", "timestamp": NOW}


def answered(
    write_path: WritePath, body: object, route: str = BATCH_POST, **event: Any
) -> tuple[int, dict[str, Any], dict[str, str]]:
    answer = write_path.post(http_event(route, body, **event))
    return answer["statusCode"], json.loads(answer["body"]), answer["headers"]


def test_a_body_may_not_name_another_room_than_the_path() -> None:
    status, body, _ = answered(WritePath(), TEXT | {"roomId": "cellar"}, ROOM_POST, path={"roomId": "kitchen"})

    assert status == 400
    assert body["error"]["details"] == [
        {"field": "roomId", "message": "is not the path's", "got": "cellar", "allowed": "kitchen"}
    ]


def test_a_batch_is_accepted_if_any_event_is() -> None:
    status, body, _ = answered(WritePath(), {"events": [{}, message()]})

    assert status == 202
    assert ["error" in result for result in body["results"]] == [True, False]


def test_a_batch_without_a_valid_event_is_a_400_with_all_results() -> None:
    status, body, _ = answered(WritePath(), {"events": [{}, {}]})

    assert status == 400
    assert len(body["results"]) == 2
    assert body["error"]["code"] == "invalid_event"


def test_a_batch_that_no_lane_takes_is_a_503_with_the_ids_to_retry_with() -> None:
    write_path = WritePath()
    write_path.broker.down = write_path.retry.down = True

    status, body, headers = answered(write_path, {"events": [{}, message()]})

    assert (status, body["error"]["code"]) == (503, "unavailable")
    assert int(headers["retry-after"]) > 0
    assert body["results"][1]["messageId"] == "m-1"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("", 400, "invalid_request"),
        ("{", 400, "invalid_request"),
        ("7", 400, "invalid_request"),
        ({}, 400, "invalid_request"),
        ({"events": "x"}, 400, "invalid_request"),
        ({"events": [{}] * 501}, 413, "too_large"),
    ],
)
def test_a_body_that_cannot_be_used_is_refused(body: object, status: int, code: str) -> None:
    given, answer, _ = answered(WritePath(), body)

    assert (given, answer["error"]["code"]) == (status, code)


def test_a_batch_may_have_five_hundred_events() -> None:
    write_path = WritePath()

    status, _, _ = answered(write_path, {"events": [message(messageId=str(number)) for number in range(500)]})

    assert status == 202
    assert len(write_path.published()) == 500


def test_a_body_may_come_as_base64() -> None:
    event = http_event(BATCH_POST, base64.b64encode(json.dumps({"events": [message()]}).encode()).decode())

    assert WritePath().post(event | {"isBase64Encoded": True})["statusCode"] == 202
    assert WritePath().post(event | {"body": "%", "isBase64Encoded": True})["statusCode"] == 400


@pytest.mark.parametrize(
    "given", ["application/json", "application/JSON; charset=utf-8", "application/merge-patch+json", "", None]
)
def test_a_body_of_json_or_of_no_type_is_read(given: str | None) -> None:
    headers = {} if given is None else {"content-type": given}

    assert WritePath().post(http_event(BATCH_POST, {"events": [message()]}) | {"headers": headers})["statusCode"] == 202


def test_what_curl_sends_by_default_is_read() -> None:
    event = http_event(BATCH_POST, base64.b64encode(json.dumps({"events": [message()]}).encode()).decode())
    headers = {"content-type": "application/x-www-form-urlencoded"}

    assert WritePath().post(event | {"headers": headers, "isBase64Encoded": True})["statusCode"] == 202


@pytest.mark.parametrize("given", ["multipart/form-data; boundary=x", "text/plain", "application/xml"])
def test_a_body_of_another_type_is_a_415(given: str) -> None:
    answer = WritePath().post(http_event(BATCH_POST, {"events": [message()]}) | {"headers": {"content-type": given}})
    status, body = answer["statusCode"], json.loads(answer["body"])

    assert (status, body["error"]["code"]) == (415, "unsupported_media_type")
    assert body["error"]["details"][0]["field"] == "content-type"


def test_very_many_unknown_fields_make_a_short_answer() -> None:
    status, body, _ = answered(
        WritePath(), TEXT | {f"field{n}": n for n in range(1000)}, ROOM_POST, path={"roomId": "kitchen"}
    )

    assert (status, len(body["error"]["details"])) == (400, 10)


def test_every_answer_is_private_and_names_its_request() -> None:
    for body in (TEXT, {}):
        _, answer, headers = answered(WritePath(), body, ROOM_POST, path={"roomId": "kitchen"})

        assert headers["x-request-id"] == "r-1"
        assert answer.get("error", {"correlationId": "r-1"})["correlationId"] == "r-1"
        assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-store", "nosniff")
