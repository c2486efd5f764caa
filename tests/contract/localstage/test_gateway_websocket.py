"""A WebSocket API over loopback: messages, routes, answers, limits, the end of a connection."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import uvloop
import websocket
from aiohttp import WSMsgType
from aws_lambda_powertools.utilities.parser.models import (
    APIGatewayWebSocketConnectEventModel,
    APIGatewayWebSocketDisconnectEventModel,
    APIGatewayWebSocketMessageEventModel,
)
from gateway_fakes import FakeFunctions, Raises, eventually, running, websocket_model

from localstage.errors import TemplateError
from localstage.gateway import Gateway
from localstage.gateway.websocket_connection import Limits
from localstage.model import Throttle, WebSocketRoute

Serve = Callable[..., Any]

CONNECT = WebSocketRoute("$connect", "Open", False)
DISCONNECT = WebSocketRoute("$disconnect", "Close", False)
DEFAULT = WebSocketRoute("$default", "Receive", True)
SEND = WebSocketRoute("send", "Send", True)
ALL = (CONNECT, DISCONNECT, DEFAULT, SEND)


@pytest.fixture
def functions() -> FakeFunctions:
    made = FakeFunctions()
    made.handlers["Open"] = made.handlers["Close"] = lambda event: {"statusCode": 200}
    made.handlers["Receive"] = lambda event: {"statusCode": 200, "body": f"default {event['body']}"}
    made.handlers["Send"] = lambda event: {"statusCode": 200, "body": f"sent {event['body']}"}
    return made


@pytest.fixture
async def connect(functions: FakeFunctions, tmp_path: Path) -> AsyncIterator[Serve]:
    """Serves routes and opens a connection to them."""
    async with AsyncExitStack() as stack:

        async def start(
            *routes: WebSocketRoute, limits: Limits | None = None, **api: Any
        ) -> aiohttp.ClientWebSocketResponse:
            model = websocket_model(*(routes or ALL), **api)
            gateway = await stack.enter_async_context(running(model, functions, tmp_path, limits=limits))
            client = await stack.enter_async_context(aiohttp.ClientSession())
            return await stack.enter_async_context(client.ws_connect(gateway.websocket_url, max_msg_size=0))

        yield start


async def test_the_events_of_a_connection_have_awss_shape(functions: FakeFunctions, tmp_path: Path) -> None:
    before = time.time()
    async with (
        running(websocket_model(*ALL), functions, tmp_path) as gateway,
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


async def test_the_action_selects_the_route_and_the_answer_comes_back(connect: Serve) -> None:
    socket = await connect()

    answers = {}
    for text in ('{"action":"send"}', '{"action":"other"}', "not json", '{"action":"$connect"}', "grüß 🙂"):
        await socket.send_str(text)
        answers[text] = await socket.receive_str()

    assert answers == {text: f"{'sent' if 'send' in text else 'default'} {text}" for text in answers}


async def test_only_two_way_routes_answer(connect: Serve, functions: FakeFunctions) -> None:
    socket = await connect(WebSocketRoute("quiet", "Send", False), SEND, DEFAULT)

    await socket.send_str('{"action":"quiet"}')
    await eventually(lambda: functions.finished == ["Send"])
    await socket.send_str('{"action":"send"}')

    assert await socket.receive_str() == 'sent {"action":"send"}'


async def test_an_empty_answer_sends_nothing(connect: Serve, functions: FakeFunctions) -> None:
    functions.handlers["Receive"] = lambda event: {"statusCode": 200}
    socket = await connect()

    await socket.send_str("quiet")
    await eventually(lambda: functions.finished == ["Open", "Receive"])
    await socket.send_str('{"action":"send"}')

    assert (await socket.receive_str()).startswith("sent")


async def test_without_a_default_route_the_client_is_told_forbidden(connect: Serve, functions: FakeFunctions) -> None:
    socket = await connect(CONNECT, SEND)

    await socket.send_str('{"action":"other"}')
    answer = await socket.receive_json()

    assert answer["message"] == "Forbidden"
    assert answer["connectionId"] == functions.of("Open")[0]["requestContext"]["connectionId"]
    assert answer["requestId"]


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
    told = await socket.receive_json()
    await socket.send_str('{"action":"send"}')

    assert told["message"] == "Internal server error"
    assert set(told) == {"message", "connectionId", "requestId"}
    assert (await socket.receive_str()).startswith("sent")


async def test_a_function_that_takes_too_long_is_an_error_frame(connect: Serve, functions: FakeFunctions) -> None:
    functions.handlers["Receive"] = lambda event: asyncio.sleep(60)
    socket = await connect(WebSocketRoute("$default", "Receive", True, timeout=0.05))

    await socket.send_str("hello")

    assert (await socket.receive_json())["message"] == "Internal server error"


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


async def test_a_message_may_have_128_kb_in_frames_of_32_kb(connect: Serve, functions: FakeFunctions) -> None:
    socket = await connect()

    await send_in_frames(socket, 128 * 1024, 32 * 1024)

    await eventually(lambda: functions.of("Receive"))
    assert len(functions.of("Receive")[0]["body"]) == 128 * 1024


@pytest.mark.parametrize(("size", "frame"), [(32 * 1024 + 1, 200_000), (128 * 1024 + 1, 32 * 1024), (400_000, 400_000)])
async def test_a_frame_over_32_kb_or_a_message_over_128_kb_closes_with_1009(
    connect: Serve, functions: FakeFunctions, size: int, frame: int
) -> None:
    socket = await connect()

    await send_in_frames(socket, size, frame)

    assert (await socket.receive()).type is WSMsgType.CLOSE
    assert socket.close_code == 1009
    await eventually(lambda: functions.of("Close"))
    assert functions.of("Close")[0]["requestContext"]["disconnectStatusCode"] == 1009
    assert functions.of("Receive") == []


async def send_in_frames(socket: aiohttp.ClientWebSocketResponse, size: int, frame: int) -> None:
    """Send one text message in several frames, which aiohttp's client does not do by itself."""
    writer = socket._writer
    sent = 0
    while sent < size:
        piece = min(frame, size - sent)
        opcode = 0 if sent else 1
        sent += piece
        header = bytes([opcode | (0x80 if sent == size else 0)])
        length = bytes([0x80 | 126]) + piece.to_bytes(2, "big") if piece < 65536 else b"\xff" + piece.to_bytes(8, "big")
        writer.transport.write(header + length + b"\0\0\0\0" + b"x" * piece)
    await asyncio.sleep(0)


async def test_a_binary_frame_closes_with_1003(connect: Serve, functions: FakeFunctions) -> None:
    socket = await connect()

    await socket.send_bytes(b"\x00")

    assert (await socket.receive()).type is WSMsgType.CLOSE
    assert socket.close_code == 1003
    await eventually(lambda: functions.of("Close"))


async def test_text_that_is_not_utf8_closes_with_1007(connect: Serve, functions: FakeFunctions) -> None:
    socket = await connect()

    await socket._writer.send_frame(b"\xff", WSMsgType.TEXT)

    assert (await socket.receive()).type is WSMsgType.CLOSE
    assert socket.close_code == 1007
    await eventually(lambda: functions.of("Close"))
    assert functions.of("Close")[0]["requestContext"]["disconnectStatusCode"] == 1007


@pytest.mark.parametrize("limits", [Limits(idle=0.1), Limits(total=0.1)])
async def test_an_idle_or_old_connection_is_closed_with_1001(
    connect: Serve, functions: FakeFunctions, limits: Limits
) -> None:
    socket = await connect(limits=limits)

    assert (await socket.receive()).type is WSMsgType.CLOSE
    assert socket.close_code == 1001
    await eventually(lambda: functions.of("Close"))
    context = functions.of("Close")[0]["requestContext"]
    assert (context["disconnectStatusCode"], context["disconnectReason"]) == (1001, "Going away")


async def test_traffic_keeps_a_connection_from_being_idle(connect: Serve) -> None:
    socket = await connect(limits=Limits(idle=1.0))

    for number in range(8):
        await asyncio.sleep(0.2)
        if number % 2:
            await socket.ping()
        else:
            await socket.send_str("still here")
            assert await socket.receive_str() == "default still here"

    assert not socket.closed


async def test_pings_are_answered(connect: Serve) -> None:
    socket = await connect()
    socket._autoping = False

    await socket.ping(b"there?")
    answer = await socket.receive()

    assert (answer.type, answer.data) == (WSMsgType.PONG, b"there?")


async def test_a_client_that_just_vanishes_is_a_1006(connect: Serve, functions: FakeFunctions) -> None:
    socket = await connect()

    socket._writer.transport.abort()

    await eventually(lambda: functions.of("Close"))
    context = functions.of("Close")[0]["requestContext"]
    assert (context["disconnectStatusCode"], context["disconnectReason"]) == (1006, "Connection closed abnormally")


async def test_a_close_without_a_code_is_a_1005(connect: Serve, functions: FakeFunctions) -> None:
    socket = await connect()

    await socket._writer.send_frame(b"", WSMsgType.CLOSE)

    await eventually(lambda: functions.of("Close"))
    context = functions.of("Close")[0]["requestContext"]
    assert context["disconnectStatusCode"] == 1005
    assert context["disconnectReason"] == "Client-side close frame status not set"


async def test_more_messages_than_the_throttle_allows_are_told_so(connect: Serve) -> None:
    socket = await connect(DEFAULT, throttle=Throttle(rate=0.0001, burst=2))

    await socket.send_str("one")
    first = await socket.receive_str()
    await socket.send_str("two")
    second = await socket.receive_json()

    assert first == "default one"
    assert second["message"] == "Too Many Requests"
    assert set(second) == {"message", "connectionId", "requestId"}


async def test_compression_is_not_negotiated(functions: FakeFunctions, tmp_path: Path) -> None:
    async with (
        running(websocket_model(*ALL), functions, tmp_path) as gateway,
        aiohttp.ClientSession() as client,
        client.ws_connect(gateway.websocket_url, compress=15) as socket,
    ):
        assert not socket.compress


async def test_stopping_closes_connections_with_1001_and_runs_disconnect(
    functions: FakeFunctions, tmp_path: Path
) -> None:
    async with aiohttp.ClientSession() as client:
        async with running(websocket_model(*ALL), functions, tmp_path) as gateway:
            sockets = [await client.ws_connect(gateway.websocket_url) for _ in range(5)]
            reading = [asyncio.create_task(socket.receive()) for socket in sockets]

        for message in await asyncio.gather(*reading):
            assert (message.type, message.data) == (WSMsgType.CLOSE, 1001)
    assert len(functions.of("Close")) == 5


async def test_stopping_does_not_wait_for_a_disconnect_that_hangs(functions: FakeFunctions, tmp_path: Path) -> None:
    functions.handlers["Close"] = lambda event: asyncio.sleep(60)

    async with (
        asyncio.timeout(10),
        aiohttp.ClientSession() as client,
        running(websocket_model(*ALL), functions, tmp_path) as gateway,
    ):
        await client.ws_connect(gateway.websocket_url)


async def test_routes_are_replaced_and_connections_stay(functions: FakeFunctions, tmp_path: Path) -> None:
    async with (
        running(websocket_model(CONNECT, DEFAULT), functions, tmp_path) as gateway,
        aiohttp.ClientSession() as client,
        client.ws_connect(gateway.websocket_url) as socket,
    ):
        await gateway.replace(websocket_model(CONNECT, DEFAULT, SEND))

        await socket.send_str('{"action":"send"}')
        assert (await socket.receive_str()).startswith("sent")


async def test_a_selection_that_cannot_be_served_is_a_template_error(functions: FakeFunctions, tmp_path: Path) -> None:
    model = websocket_model(*ALL, selection="$request.header.action")

    with pytest.raises(TemplateError, match="WebSocketApi"):
        await Gateway(model, functions, state_dir=tmp_path).start()


async def test_a_blocking_client_as_load_tests_use_it_works(functions: FakeFunctions, tmp_path: Path) -> None:
    async with running(websocket_model(*ALL), functions, tmp_path) as gateway:

        def converse() -> list[str]:
            socket = websocket.create_connection(gateway.websocket_url, timeout=10)
            answers = []
            for text in ("one", "two"):
                socket.send(text)
                answers.append(str(socket.recv()))
            socket.close()
            return answers

        assert await asyncio.to_thread(converse) == ["default one", "default two"]


def test_a_connection_works_under_uvloop(functions: FakeFunctions, tmp_path: Path) -> None:
    async def converse() -> list[str]:
        async with (
            running(websocket_model(*ALL), functions, tmp_path) as gateway,
            aiohttp.ClientSession() as client,
            client.ws_connect(gateway.websocket_url) as socket,
        ):
            await socket.send_str("hello")
            answers = [await socket.receive_str()]
            await send_in_frames(socket, 400_000, 400_000)
            answers.append(str((await socket.receive()).data))
            return answers

    assert uvloop.run(converse()) == ["default hello", "1009"]
    assert json.dumps(functions.of("Close")[0]["requestContext"]["disconnectStatusCode"]) == "1009"
