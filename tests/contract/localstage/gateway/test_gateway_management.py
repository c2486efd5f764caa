"""The @connections API, called through boto3's apigatewaymanagementapi client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import boto3
import pytest
from aiohttp import WSMsgType
from botocore.config import Config
from botocore.exceptions import ClientError

from localstage.core.model import WebSocketRoute
from localstage.gateway import Gateway
from tests.contract.localstage.gateway.gateway_fakes import FakeFunctions, eventually, running, websocket_model

ROUTES = (WebSocketRoute("$connect", "Open", False), WebSocketRoute("$disconnect", "Close", False))


def management_client(gateway: Gateway) -> Any:
    return boto3.client(
        "apigatewaymanagementapi",
        endpoint_url=gateway.management_url,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=10),
    )


class Connected:
    """A connection and a management client of its API."""

    def __init__(self, gateway: Gateway, socket: aiohttp.ClientWebSocketResponse, functions: FakeFunctions) -> None:
        self.management_url = gateway.management_url
        self.socket = socket
        self.functions = functions
        self.id: str = functions.of("Open")[-1]["requestContext"]["connectionId"]
        self._client = management_client(gateway)

    async def call(self, operation: str, connection_id: str | None = None, **arguments: Any) -> Any:
        """Call the management API from another thread, as a function would from another process."""
        method = getattr(self._client, operation)
        return await asyncio.to_thread(method, ConnectionId=connection_id or self.id, **arguments)

    async def error(self, operation: str, connection_id: str | None = None, **arguments: Any) -> tuple[int, str]:
        """Return status and code of a call that fails."""
        with pytest.raises(ClientError) as failed:
            await self.call(operation, connection_id, **arguments)
        response = failed.value.response
        return response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]


@pytest.fixture
def functions() -> FakeFunctions:
    made = FakeFunctions()
    made.handlers["Open"] = made.handlers["Close"] = lambda event: {"statusCode": 200}
    return made


@pytest.fixture
async def connected(functions: FakeFunctions) -> AsyncIterator[Connected]:
    async with (
        running(websocket_model(*ROUTES), functions) as gateway,
        aiohttp.ClientSession() as client,
        client.ws_connect(gateway.websocket_url, headers={"User-Agent": "a browser"}) as socket,
    ):
        yield Connected(gateway, socket, functions)


async def test_128_kb_may_be_posted_and_a_byte_more_may_not(connected: Connected) -> None:
    await connected.call("post_to_connection", Data=b"x" * 128 * 1024)
    assert len(await connected.socket.receive_str()) == 128 * 1024

    over = await connected.error("post_to_connection", Data=b"x" * (128 * 1024 + 1))
    far_over = await connected.error("post_to_connection", Data=b"x" * 500_000)
    assert over == far_over == (413, "PayloadTooLargeException")


async def test_delete_closes_with_1000_and_runs_disconnect(connected: Connected) -> None:
    reading = asyncio.create_task(connected.socket.receive())

    await connected.call("delete_connection")

    message = await reading
    assert (message.type, message.data) == (WSMsgType.CLOSE, 1000)
    await eventually(lambda: connected.functions.of("Close"))
    context = connected.functions.of("Close")[0]["requestContext"]
    assert (context["disconnectStatusCode"], context["disconnectReason"]) == (1000, "Connection Closed Normally")
    assert await connected.error("delete_connection") == (410, "GoneException")


@pytest.mark.parametrize("operation", ["post_to_connection", "delete_connection", "get_connection"])
async def test_a_closed_or_unknown_connection_is_a_410(connected: Connected, operation: str) -> None:
    arguments = {"Data": b"x"} if operation == "post_to_connection" else {}

    assert await connected.error(operation, "AAAAAAAAAAAAAAA=", **arguments) == (410, "GoneException")

    await connected.socket.close()
    await eventually(lambda: connected.functions.of("Close"))
    assert await connected.error(operation, **arguments) == (410, "GoneException")


async def test_a_post_before_connect_completes_is_a_410(functions: FakeFunctions) -> None:
    async with running(websocket_model(*ROUTES), functions) as gateway, aiohttp.ClientSession() as client:
        codes = []

        async def post_early(event: Any) -> Any:
            context = event["requestContext"]
            try:
                await asyncio.to_thread(
                    management_client(gateway).post_to_connection, ConnectionId=context["connectionId"], Data=b"x"
                )
            except ClientError as error:
                codes.append(error.response["Error"]["Code"])
            return {"statusCode": 200}

        functions.handlers["Open"] = post_early

        async with client.ws_connect(gateway.websocket_url):
            assert codes == ["GoneException"]


async def pushed_or_error(connected: Connected, data: bytes) -> str | None:
    """The code of a push that is refused."""
    try:
        await connected.call("post_to_connection", Data=data)
    except ClientError as error:
        return str(error.response["Error"]["Code"])
    return None


@pytest.mark.parametrize("size", [4 * 1024, 128 * 1024])
async def test_a_client_that_does_not_read_is_a_429_before_it_holds_a_megabyte(connected: Connected, size: int) -> None:
    transport = connected.socket._response.connection.transport
    transport.pause_reading()

    pushed = 0
    while (code := await pushed_or_error(connected, b"x" * size)) is None and pushed < 16 * 1024 * 1024:
        pushed += size
    refused = [await connected.error("post_to_connection", Data=b"x" * size) for _ in range(20)]
    transport.resume_reading()
    for _ in range(pushed // size):
        assert len(await connected.socket.receive_str()) == size
    await connected.call("post_to_connection", Data=b"again")

    assert code == "LimitExceededException"
    assert refused == [(429, "LimitExceededException")] * 20
    assert pushed < 1024 * 1024
    assert await connected.socket.receive_str() == "again"
