"""The limits of the frames of a WebSocket connection, and the codes that close it."""

from __future__ import annotations

import aiohttp
import pytest
from aiohttp import WSMsgType

from tests.contract.localstage.gateway.gateway_fakes import (
    ALL,
    FakeFunctions,
    Serve,
    connecting,  # noqa: F401 - a fixture
    conversing_functions,  # noqa: F401 - a fixture
    eventually,
    running,
    send_in_frames,
    websocket_model,
)


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


async def test_pings_are_answered(connect: Serve) -> None:
    socket = await connect()
    socket._autoping = False

    await socket.ping(b"there?")
    answer = await socket.receive()

    assert (answer.type, answer.data) == (WSMsgType.PONG, b"there?")


async def test_compression_is_not_negotiated(functions: FakeFunctions) -> None:
    async with (
        running(websocket_model(*ALL), functions) as gateway,
        aiohttp.ClientSession() as client,
        client.ws_connect(gateway.websocket_url, compress=15) as socket,
    ):
        assert not socket.compress
