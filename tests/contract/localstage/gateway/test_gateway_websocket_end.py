"""A WebSocket connection ends by its age, by its client or with the stage."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
from aiohttp import WSMsgType

from localstage.gateway.websocket_connection import Limits
from tests.contract.localstage.gateway.gateway_fakes import (
    ALL,
    FakeFunctions,
    Serve,
    connecting,  # noqa: F401 - a fixture
    conversing_functions,  # noqa: F401 - a fixture
    eventually,
    running,
    websocket_model,
)


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


async def test_a_connection_lost_without_a_close_frame_is_a_1006(connect: Serve, functions: FakeFunctions) -> None:
    socket = await connect()

    socket._writer.transport.abort()

    await eventually(lambda: functions.of("Close"))
    context = functions.of("Close")[0]["requestContext"]
    assert (context["disconnectStatusCode"], context["disconnectReason"]) == (1006, "Connection closed abnormally")


async def test_stopping_closes_connections_with_1001_and_runs_disconnect(functions: FakeFunctions) -> None:
    async with aiohttp.ClientSession() as client:
        async with running(websocket_model(*ALL), functions) as gateway:
            sockets = [await client.ws_connect(gateway.websocket_url) for _ in range(5)]
            reading = [asyncio.create_task(socket.receive()) for socket in sockets]

        for message in await asyncio.gather(*reading):
            assert (message.type, message.data) == (WSMsgType.CLOSE, 1001)
    assert len(functions.of("Close")) == 5
