"""Operators read the depth of the parking queue and requeue its messages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from headrace.api.router import Api, http_handler
from headrace.core.errors import ConnectionLost
from headrace.queues.rabbitmq.parked import RequeueResult
from headrace.runtime.observability import logger
from tests.worlds.functions import routes_of
from tests.worlds.requests import http_event
from tests.worlds.senders import CLOCK

ROUTES = routes_of("return_parked")
RETURN = "POST /parked/return"


class ParkingQueue:
    """A parking queue that records its calls."""

    def __init__(self, result: RequeueResult | None = None) -> None:
        self.result = result
        self.asked: list[tuple[Any, ...]] = []

    def depth(self) -> int:
        return 3

    def requeue(self, *arguments: Any) -> RequeueResult:
        self.asked.append(arguments)
        if self.result is None:
            raise ConnectionLost("the broker is unavailable")
        return self.result


def call(queue: ParkingQueue, route: str, body: object = None, scope: str = "ops") -> tuple[int, Any]:
    answer = http_handler(Api(ROUTES, lambda: queue, CLOCK))(http_event(route, body, user="olga", scope=scope))
    found = json.loads(answer["body"])
    if answer["statusCode"] == 200:
        model: TypeAdapter[Any] = TypeAdapter(ROUTES[route].answer)
        assert model.dump_python(model.validate_python(found)) == found
    return answer["statusCode"], found


def test_the_depth_of_the_parking_queue_is_shown() -> None:
    assert call(ParkingQueue(), "GET /parked") == (200, {"parked": 3})


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ({}, ("main", 100, 10, 15.0)),
        ({"lane": "retry", "limit": 1000, "rate": 100}, ("retry", 1000, 100, 15.0)),
    ],
)
def test_messages_are_requeued_and_counted_by_their_lane(
    body: dict[str, Any], asked: tuple[Any, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    queue = ParkingQueue(RequeueResult(2, 1))

    assert call(queue, RETURN, body) == (200, {"returned": 2, "left": 1})

    assert queue.asked == [asked]
    line = json.loads(capsys.readouterr().out)
    assert (line["ParkedReturned"], line["lane"]) == ([2.0], asked[0])


def test_who_returned_messages_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert call(ParkingQueue(RequeueResult(2, 1)), RETURN, {"lane": "retry"})[0] == 200

    began, found = [json.loads(logger.registered_formatter.format(record)) for record in caplog.records]
    logged = {name: found[name] for name in ("message", "operator", "lane", "returned", "left")}
    assert (began["message"], began["operator"]) == ("parked messages are being returned", "olga")
    expected = {"message": "parked messages were returned", "operator": "olga", "lane": "retry"}
    assert logged == {**expected, "returned": 2, "left": 1}


def test_an_answer_says_why_requeueing_stopped_early() -> None:
    queue = ParkingQueue(RequeueResult(1, 2, "persist.chat.1 takes no messages now"))

    assert call(queue, RETURN, {})[1]["failure"] == "persist.chat.1 takes no messages now"


def test_a_broker_that_is_unavailable_is_named() -> None:
    status, answer = call(ParkingQueue(), RETURN, {})

    assert (status, answer["error"]["code"]) == (503, "unavailable")
    assert answer["error"]["message"] == "the broker is unavailable"
