"""The Python client's sending against a scripted server, over HTTP and WebSocket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from headrace_client import (
    ConnectionSettings,
    Sender,
    SendSettings,
    Unreachable,
    over_http,
    over_websocket,
)

FAST_SENDING = SendSettings(first_rate=1e6, lowest_rate=1e5, first_pause=0.001, longest_pause=0.01)
FAST = ConnectionSettings(answer_timeout=5.0, first_pause=0.001, longest_pause=0.01)
LIMITED = {"error": {"code": "rate_limited", "message": "later", "retryAfter": 0.001}}
DROP = "drop"
THROTTLED = "throttled"


class Server:
    """Serves both protocols. Each entry of ``script`` answers one request: ``DROP`` ends the connection, ``THROTTLED``
    is API Gateway's refusal, a number of events is accepted and the rest limited. Then everything is accepted."""

    def __init__(self) -> None:
        self.script: list[Any] = []
        self.asked: list[tuple[str, list[dict[str, Any]]]] = []
        self.tokens: list[str] = []
        self.headers: dict[str, str] = {}
        self.http_url = self.websocket_url = ""

    def results(self, way: str, events: list[dict[str, Any]]) -> Any:
        self.asked.append((way, events))
        accepted = self.script.pop(0) if self.script else len(events)
        if not isinstance(accepted, int):
            return accepted
        return [
            {"messageId": event["messageId"], **({"lane": "main"} if number < accepted else LIMITED)}
            for number, event in enumerate(events)
        ]

    async def post(self, request: web.Request) -> web.StreamResponse:
        self.tokens.append(request.headers["Authorization"])
        body = await request.json()
        results = self.results(f"POST {request.path}", body.get("events", [body]))
        if results == DROP:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if results == THROTTLED:
            return web.json_response({"message": "Too Many Requests"}, status=429, headers=self.headers)
        if isinstance(results, web.Response):
            return results
        limited = all("error" in each for each in results)
        extra = {"error": LIMITED["error"]} if limited else {}
        return web.json_response({"results": results, **extra}, status=429 if limited else 202, headers=self.headers)

    async def frames(self, request: web.Request) -> web.StreamResponse:
        protocol, token = (part.strip() for part in request.headers["Sec-WebSocket-Protocol"].split(","))
        self.tokens.append(token)
        socket = web.WebSocketResponse(protocols=(protocol,))
        await socket.prepare(request)
        async for message in socket:
            frame = json.loads(message.data)
            action, number = frame.pop("action"), {"requestId": frame.pop("requestId")}
            results = self.results(action, frame.get("events", [frame]))
            if results == DROP:
                await socket.close()
            elif results == THROTTLED:
                await socket.send_json({"message": "Too Many Requests", "connectionId": "c", "requestId": "theirs"})
            elif action == "sendMessage":
                kind = "error" if "error" in results[0] else "ack"
                await socket.send_json({"type": kind, **number, **results[0]})
            else:
                await socket.send_json({"type": "acks", **number, "results": results})
        return socket


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    app = web.Application()
    app.router.add_post("/messages/batch", made.post)
    app.router.add_post("/rooms/{roomId}/messages", made.post)
    app.router.add_get("/dev", made.frames)
    running = TestServer(app)
    await running.start_server()
    made.http_url = str(running.make_url(""))
    made.websocket_url = str(running.make_url("/dev")).replace("http", "ws", 1)
    yield made
    await running.close()


@pytest.fixture(params=["http", "websocket"])
def sender(request: pytest.FixtureRequest, server: Server) -> Sender:
    if request.param == "http":
        return over_http(server.http_url, lambda: "h.p.s", FAST_SENDING)
    return over_websocket(server.websocket_url, lambda: "h.p.s", FAST_SENDING, connection=FAST)


def messages(count: int) -> list[dict[str, Any]]:
    return [{"roomId": "kitchen", "message": f"n{number}"} for number in range(count)]


@pytest.mark.parametrize("room_id", ["r/members/dave", "r?", ".", ".."])
async def test_a_room_id_that_could_split_a_path_is_sent_in_the_body(server: Server, room_id: str) -> None:
    """The server refuses it there by name; in a path it could act on another room."""
    async with over_http(server.http_url, lambda: "h.p.s", FAST_SENDING) as sender:
        await sender.send([{"roomId": room_id, "message": "hello"}])

    assert [way for way, _ in server.asked] == ["POST /messages/batch"]


async def test_a_message_may_have_a_field_with_the_name_of_a_frames_field(sender: Sender) -> None:
    async with sender:
        (sent,) = await sender.send([{**messages(1)[0], "action": "ping", "requestId": "mine"}])

    assert sent.is_accepted


async def test_a_single_message_has_its_own_request_and_is_retried(sender: Sender, server: Server) -> None:
    server.script = [0, THROTTLED]
    async with sender:
        (sent,) = await sender.send(messages(1))

    assert sent.is_accepted
    assert {way for way, _ in server.asked} <= {"POST /rooms/kitchen/messages", "sendMessage"}
    assert [events for _, events in server.asked] == [[sent.event]] * 3


async def test_the_same_events_are_sent_again_after_a_refusal_or_lost_connection(
    sender: Sender, server: Server
) -> None:
    server.script = [THROTTLED, DROP]
    async with sender:
        sent = await sender.send(messages(3))

    assert all(each.is_accepted for each in sent)
    assert [events for _, events in server.asked] == [[each.event for each in sent]] * 3


async def test_calls_at_the_same_time_take_turns(sender: Sender, server: Server) -> None:
    async with sender:
        found = await asyncio.gather(*(sender.send(messages(3)) for _ in range(5)))

    assert [len(events) for _, events in server.asked] == [3] * 5
    assert all(each.is_accepted for sent in found for each in sent)


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (web.json_response({"message": "Unauthorized"}, status=401), "unauthorized"),
        (web.json_response({"error": {"code": "too_large", "message": "m", "details": []}}, status=413), "too_large"),
        (web.json_response({"error": "a proxy's own words"}, status=400), "400"),
    ],
)
async def test_a_request_that_cannot_succeed_is_not_sent_again(server: Server, answer: web.Response, code: str) -> None:
    server.script = [answer]
    async with over_http(server.http_url, "h.p.s", FAST_SENDING) as sender:
        sent = await sender.send(messages(2), raise_for_errors=False)

    assert [(each.error or {})["code"] for each in sent] == [code] * 2
    assert len(server.asked) == 1


@pytest.mark.parametrize("way", ["http", "websocket"])
async def test_an_address_where_nothing_listens_is_named_by_the_first_call(way: str, unused_tcp_port: int) -> None:
    address = f"127.0.0.1:{unused_tcp_port}"
    soon = ConnectionSettings(connect_timeout=0.2)
    if way == "http":
        sender = over_http(f"http://{address}", "h.p.s")
    else:
        sender = over_websocket(f"ws://{address}", "h.p.s", connection=soon)
    async with sender:
        with pytest.raises(Unreachable, match=address):
            await sender.send(messages(1))


async def test_a_token_can_be_a_text_or_come_from_a_coroutine_function(server: Server) -> None:
    async def token() -> str:
        return " h.p.awaited\n"

    for given in ("h.p.text\n", token):
        async with over_http(server.http_url, given, FAST_SENDING) as sender:
            await sender.send(messages(1))

    assert server.tokens == ["Bearer h.p.text", "Bearer h.p.awaited"]


async def test_the_log_says_why_it_sends_again_and_has_neither_token_nor_text(
    sender: Sender, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.script = [THROTTLED]
    with caplog.at_level("DEBUG", logger="headrace_client"):
        async with sender:
            await sender.send([{"roomId": "kitchen", "message": "a secret text"}])

    assert "sending 1 of 1 events again" in caplog.text
    assert "Too Many Requests" in caplog.text
    assert "a secret text" not in caplog.text


async def test_every_request_has_the_current_token(server: Server) -> None:
    tokens = iter(["h.p.a", "h.p.b"])
    server.script = [0]
    async with over_http(server.http_url, lambda: next(tokens), FAST_SENDING) as sender:
        await sender.send(messages(2))

    assert server.tokens == ["Bearer h.p.a", "Bearer h.p.b"]


async def test_a_long_batch_is_split_into_frames_within_the_limit(server: Server) -> None:
    async with over_websocket(server.websocket_url, lambda: "h.p.s", FAST_SENDING, connection=FAST) as sender:
        sent = await sender.send([{"roomId": "kitchen", "message": "x" * 2000} for _ in range(40)])

    assert all(each.is_accepted for each in sent)
    assert all(len(json.dumps(events)) < 32_000 for _, events in server.asked)
