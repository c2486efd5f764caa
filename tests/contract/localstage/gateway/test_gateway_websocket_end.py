"""A WebSocket connection ends by its age, by its client or with the stage."""

from __future__ import annotations

import pytest
from aiohttp import WSMsgType

from localstage.gateway.websocket_connection import Limits
from tests.contract.localstage.gateway.gateway_fakes import (
    FakeFunctions,
    Serve,
    connecting,  # noqa: F401 - a fixture
    conversing_functions,  # noqa: F401 - a fixture
    eventually,
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
