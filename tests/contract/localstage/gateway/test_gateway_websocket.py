"""A WebSocket API over loopback: events, routes, messages and their answers."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from aws_lambda_powertools.utilities.parser.models import (
    APIGatewayWebSocketConnectEventModel,
    APIGatewayWebSocketDisconnectEventModel,
    APIGatewayWebSocketMessageEventModel,
)

from localstage.core.model import Throttle, WebSocketRoute
from localstage.gateway.websocket_connection import Limits
from tests.contract.localstage.gateway.gateway_fakes import (
    ALL,
    DEFAULT,
    SEND,
    FakeFunctions,
    Raises,
    Serve,
    connecting,  # noqa: F401 - a fixture
    conversing_functions,  # noqa: F401 - a fixture
    eventually,
    running,
    websocket_model,
)


async def test_the_events_of_a_connection_have_awss_shape(functions: FakeFunctions) -> None:
    before = time.time()
    async with (
        running(websocket_model(*ALL), functions) as gateway,
        aiohttp.ClientSession() as client,
        client.ws_connect(
            f"{gateway.websocket_url}?room=a%20b&room=c", headers={"X-Own": "1", "User-Agent": "a browser"}
        ) as socket,
    ):
        await socket.send_str("hello")
        await socket.receive_str()
        await socket.close(code=1000, message=b"bye")
        await eventually(lambda: functions.of("Close"))

    (connected,), (message,), (left,) = (functions.of(name) for name in ("Open", "Receive", "Close"))
    APIGatewayWebSocketConnectEventModel.model_validate(connected)
    parsed = APIGatewayWebSocketMessageEventModel.model_validate(message)
    APIGatewayWebSocketDisconnectEventModel.model_validate(left)
    assert before - 0.001 <= parsed.request_context.connected_at.timestamp() <= time.time()

    opening = connected["requestContext"]
    assert (opening["routeKey"], opening["eventType"], opening["messageDirection"]) == ("$connect", "CONNECT", "IN")
    assert opening["identity"] == {"sourceIp": "127.0.0.1", "userAgent": "a browser"}
    assert opening["stage"] == "dev"
    assert opening["connectionId"].endswith("=")
    assert connected["headers"]["X-Own"] == "1"
    assert connected["multiValueHeaders"]["X-Own"] == ["1"]
    assert connected["headers"]["X-Forwarded-For"] == "127.0.0.1"
    assert connected["queryStringParameters"] == {"room": "c"}
    assert connected["multiValueQueryStringParameters"] == {"room": ["a b", "c"]}
    assert connected["isBase64Encoded"] is False
    assert "body" not in connected

    assert message["body"] == "hello"
    assert message["isBase64Encoded"] is False
    assert set(message) == {"requestContext", "body", "isBase64Encoded"}
    context = message["requestContext"]
    assert set(context) == {
        *("routeKey", "messageId", "eventType", "extendedRequestId", "requestTime", "messageDirection", "stage"),
        *("connectedAt", "requestTimeEpoch", "identity", "requestId", "domainName", "connectionId", "apiId"),
    }
    assert (context["routeKey"], context["eventType"]) == ("$default", "MESSAGE")

    closing = left["requestContext"]
    assert (closing["routeKey"], closing["eventType"]) == ("$disconnect", "DISCONNECT")
    assert (closing["disconnectStatusCode"], closing["disconnectReason"]) == (1000, "bye")
    assert {event["requestContext"]["connectionId"] for _, event in functions.events} == {context["connectionId"]}


async def test_only_two_way_routes_answer(connect: Serve, functions: FakeFunctions) -> None:
    socket = await connect(WebSocketRoute("quiet", "Send", False), SEND, DEFAULT)

    await socket.send_str('{"action":"quiet"}')
    await eventually(lambda: functions.finished == ["Send"])
    await socket.send_str('{"action":"send"}')

    assert await socket.receive_str() == 'sent {"action":"send"}'


@pytest.mark.parametrize(
    "answer",
    [
        Raises(),
        Raises("TimedOut"),
        None,
        {"body": "no status"},
        {"statusCode": 200, "body": {"not": "text"}},
        {"statusCode": 200, "body": "x" * (128 * 1024 + 1)},
        b"not json",
    ],
)
async def test_a_failed_function_is_an_error_frame_and_the_connection_stays(
    connect: Serve, functions: FakeFunctions, answer: Any
) -> None:
    functions.handlers["Receive"] = lambda event: answer
    socket = await connect()

    await socket.send_str("hello")
    error = await socket.receive_json()
    await socket.send_str('{"action":"send"}')

    assert error["message"] == "Internal server error"
    assert set(error) == {"message", "connectionId", "requestId"}
    assert (await socket.receive_str()).startswith("sent")


async def test_messages_of_one_connection_run_at_the_same_time_up_to_the_bound(
    connect: Serve, functions: FakeFunctions
) -> None:
    go_on = asyncio.Event()

    async def wait(event: Any) -> Any:
        await go_on.wait()
        return {"statusCode": 200, "body": event["body"]}

    functions.handlers["Receive"] = wait
    socket = await connect(DEFAULT, limits=Limits(in_flight=3))

    for number in range(5):
        await socket.send_str(str(number))
    await eventually(lambda: len(functions.of("Receive")) == 3)
    for _ in range(20):
        await asyncio.sleep(0)
    in_work = len(functions.of("Receive"))
    go_on.set()

    assert in_work == 3
    assert {await socket.receive_str() for _ in range(5)} == {"0", "1", "2", "3", "4"}


async def test_a_routes_own_throttle_replaces_the_stages(connect: Serve) -> None:
    own = replace(SEND, throttle=Throttle(rate=0.0001, burst=1))
    socket = await connect(own, DEFAULT, throttle=Throttle(rate=0.0001, burst=3))

    answers = []
    for text in ('{"action":"send"}', '{"action":"send"}', "one", "two"):
        await socket.send_str(text)
        answers.append(await socket.receive_str())

    assert ["Too Many Requests" in each for each in answers] == [False, True, False, False]
