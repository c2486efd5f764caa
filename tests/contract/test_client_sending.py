"""The Python client's sending against a scripted server, over HTTP and WebSocket."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from headrace_client import (
    ConnectionSettings,
    Headrace,
    Rooms,
    Sender,
    SendSettings,
    Unreachable,
    over_http,
    over_websocket,
)
from headrace_client.connection import SUBPROTOCOL
from headrace_client.http import NOT_OPEN

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
        self.passes = asyncio.Event()
        self.passes.set()
        self.asked: list[tuple[str, list[dict[str, Any]]]] = []
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
        events = (await request.json())["events"]
        await self.passes.wait()
        results = self.results(f"POST {request.path}", events)
        if results == DROP:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if results == THROTTLED:
            return web.json_response({"message": "Too Many Requests"}, status=429)
        limited = all("error" in each for each in results)
        extra = {"error": LIMITED["error"]} if limited else {}
        return web.json_response({"results": results, **extra}, status=429 if limited else 202)

    async def frames(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse(protocols=(SUBPROTOCOL,))
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
    app.router.add_get("/dev", made.frames)
    async with TestServer(app) as running:
        made.http_url = str(running.make_url(""))
        made.websocket_url = str(running.make_url("/dev")).replace("http", "ws", 1)
        yield made


@pytest.fixture(params=["http", "websocket"])
def sender(request: pytest.FixtureRequest, server: Server) -> Sender:
    if request.param == "http":
        return over_http(server.http_url, lambda: "h.p.s", FAST_SENDING)
    return over_websocket(server.websocket_url, lambda: "h.p.s", FAST_SENDING, connection=FAST)


def messages(count: int) -> list[dict[str, Any]]:
    return [{"roomId": "kitchen", "message": f"n{number}"} for number in range(count)]


async def test_a_message_may_have_a_field_with_the_name_of_a_frames_field(sender: Sender) -> None:
    async with sender:
        (sent,) = await sender.send([{**messages(1)[0], "action": "ping", "requestId": "mine"}])

    assert sent.is_accepted


async def test_a_message_and_several_are_sent_again_unchanged(sender: Sender, server: Server) -> None:
    server.script = [0, THROTTLED, DROP, 1, 1, THROTTLED, DROP]
    async with sender:
        (sent,) = await sender.send(messages(1))
        more = await sender.send(messages(3))

    assert all(each.is_accepted for each in [sent, *more])
    assert [events for _, events in server.asked[:4]] == [[sent.event]] * 4
    assert {way for way, _ in server.asked[:4]} <= {"POST /messages/batch", "sendMessage"}
    assert [events for _, events in server.asked[4:5]] == [[each.event for each in more]]
    assert [events for _, events in server.asked[5:]] == [[each.event for each in more[1:]]] * 3


@pytest.mark.parametrize("way", ["http", "websocket"])
async def test_an_address_where_nothing_listens_is_named_by_each_first_call(way: str, unused_tcp_port: int) -> None:
    address = f"127.0.0.1:{unused_tcp_port}"
    soon = ConnectionSettings(connect_timeout=0.2)
    if way == "http":
        sender = over_http(f"http://{address}", "h.p.s")
    else:
        sender = over_websocket(f"ws://{address}", "h.p.s", connection=soon)
    async with sender:
        found = await asyncio.gather(*(sender.send(messages(1)) for _ in range(3)), return_exceptions=True)

    assert [type(each) for each in found] == [Unreachable] * 3
    assert all(address in str(each) for each in found)


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


async def test_calls_share_frames_within_the_limit(server: Server) -> None:
    async with over_websocket(server.websocket_url, lambda: "h.p.s", FAST_SENDING, connection=FAST) as sender:
        await asyncio.gather(*(sender.send([{"roomId": "kitchen", "message": "x" * 2000}]) for _ in range(40)))

    assert len(server.asked) == 3
    assert all(len(json.dumps(events)) < 32_000 for _, events in server.asked)


async def test_what_tasks_say_in_rooms_shares_frames_and_each_is_answered_also_when_they_close(server: Server) -> None:
    bad = {"error": {"code": "invalid_event", "message": "no"}}
    server.script = [[{"lane": "main"}, bad, {"lane": "retry"}]]
    async with Rooms(server.websocket_url, "h.p.s", settings=FAST) as rooms:
        says = (rooms.send("kitchen", f"n{number}", messageId=f"m{number}") for number in range(3))
        first, wrong, last = list[Any](await asyncio.gather(*says, return_exceptions=True))
        assert len(server.asked) == 1
        waiting = [asyncio.create_task(rooms.send("kitchen", "hello")) for _ in range(3)]
        await asyncio.sleep(0)
    closed: list[Any] = await asyncio.gather(*waiting, return_exceptions=True)

    assert [(each["messageId"], each["lane"]) for each in (first, last)] == [("m0", "main"), ("m2", "retry")]
    assert [each.code for each in (wrong, *closed)] == ["invalid_event", *["closed"] * 3]


async def test_what_threads_send_while_a_request_is_out_goes_together_in_the_next(server: Server) -> None:
    server.passes.clear()
    with ThreadPoolExecutor(8) as pool, Headrace(server.http_url, "h.p.s", FAST_SENDING) as client:
        sent = [asyncio.wrap_future(pool.submit(client.send, messages(1))) for _ in range(8)]
        while len(client._inner._senders["messages"]._loop._calls) < 8:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        server.passes.set()
        await asyncio.gather(*sent)

    assert len(server.asked) <= 2


async def test_threads_share_a_client_and_are_told_when_it_is_closed(server: Server) -> None:
    accepted = threading.Event()

    def send_on(client: Headrace) -> None:
        while client.send(messages(1)):
            accepted.set()

    def in_threads() -> list[BaseException | None]:
        with ThreadPoolExecutor(8) as pool, Headrace(server.http_url, "h.p.s", FAST_SENDING) as client:
            threads = [pool.submit(send_on, client) for _ in range(8)]
            accepted.wait()
        return [each.exception() for each in threads]

    for error in await asyncio.to_thread(in_threads):
        assert str(error) == NOT_OPEN or "closed: the client was closed" in str(error)
