"""Frames of a WebSocket connection, right or wrong: what is answered, and the codes that close it."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest

from loadtest.client.websocket import SUBPROTOCOL
from tests.contract.localstage.gateway.gateway_fakes import (
    ALL,
    FakeFunctions,
    conversing_functions,  # noqa: F401 - a fixture
    eventually,
    running,
    websocket_model,
)
from tests.worlds.raw_websocket import BINARY, CLOSE, CONTINUATION, PING, TEXT, RawConnection, frame, text

FRAME, MESSAGE = 32 * 1024, 128 * 1024
END = text({"requestId": "end"})
HALVES = frame(TEXT, b'{"requestId": ', final=False), frame(CONTINUATION, b'"end"}')
PIECE = frame(TEXT, b" " * FRAME, final=False)
MORE = frame(CONTINUATION, b" " * FRAME, final=False)

CLOSED = {
    "invalid UTF-8": (frame(TEXT, b"\xff\xfe"), 1007),
    "a binary frame": (frame(BINARY, b'{"action": "ping"}'), 1003),
    "a frame that is too long": (frame(TEXT, b" " * (FRAME + 1)), 1009),
    "a message that is too long": (PIECE + MORE * (MESSAGE // FRAME), 1009),
    "an unmasked frame": (frame(TEXT, b'{"action": "ping"}', masked=False), 1002),
    "a reserved opcode": (frame(3, b"{}"), 1002),
    "a close frame": (frame(CLOSE, (1000).to_bytes(2, "big")), 1000),
}
ANSWERED = {
    "a fragmented message": HALVES[0] + HALVES[1],
    "a ping between fragments": HALVES[0] + frame(PING, b"x") + HALVES[1],
    "the longest frame": frame(TEXT, b'{"requestId": "end"}'.ljust(FRAME)),
    "the longest message": frame(TEXT, b'{"requestId": "end"}'.ljust(FRAME), final=False)
    + MORE * (MESSAGE // FRAME - 2)
    + frame(CONTINUATION, b" " * FRAME),
}


@pytest.fixture
def echoing(functions: FakeFunctions) -> FakeFunctions:
    """Functions that accept the subprotocol and answer with the message."""
    chosen = {"statusCode": 200, "headers": {"Sec-WebSocket-Protocol": SUBPROTOCOL}}
    functions.handlers["Open"] = lambda event: chosen
    functions.handlers["Receive"] = lambda event: {"statusCode": 200, "body": event["body"] or "{}"}
    return functions


@pytest.mark.parametrize("name", CLOSED)
async def test_a_broken_frame_closes_its_connection_only(name: str, echoing: FakeFunctions) -> None:
    broken, code = CLOSED[name]

    def talk(url: str) -> None:
        with RawConnection(url, "token") as other, RawConnection(url, "token") as one:
            one.send(broken)
            assert one.until_end("end") == code
            other.send(END)
            assert other.until_end("end") == {"requestId": "end"}

    async with running(websocket_model(*ALL), echoing) as gateway:
        await asyncio.to_thread(talk, str(gateway.websocket_url))
        await eventually(lambda: len(echoing.of("Close")) == 2)

    assert code in [event["requestContext"]["disconnectStatusCode"] for event in echoing.of("Close")]
    assert [json.loads(event["body"]) for event in echoing.of("Receive")] == [{"requestId": "end"}]


@pytest.mark.parametrize("name", ANSWERED)
async def test_an_unusual_but_valid_frame_is_answered(name: str, echoing: FakeFunctions) -> None:
    def talk(url: str) -> None:
        with RawConnection(url, "token") as one:
            one.send(ANSWERED[name])
            assert one.until_end("end") == {"requestId": "end"}

    async with running(websocket_model(*ALL), echoing) as gateway:
        await asyncio.to_thread(talk, str(gateway.websocket_url))


async def test_a_ping_is_answered_with_its_data(echoing: FakeFunctions) -> None:
    def talk(url: str) -> None:
        with RawConnection(url, "token") as one:
            one.send(frame(PING, b"there?"))
            assert one.receive() == b"there?"

    async with running(websocket_model(*ALL), echoing) as gateway:
        await asyncio.to_thread(talk, str(gateway.websocket_url))


async def test_compression_is_not_negotiated(functions: FakeFunctions) -> None:
    async with (
        running(websocket_model(*ALL), functions) as gateway,
        aiohttp.ClientSession() as client,
        client.ws_connect(gateway.websocket_url, compress=15) as socket,
    ):
        assert not socket.compress
