"""The handshake of a WebSocket API: authorizer, $connect, subprotocols."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest

from localstage.core.model import Throttle, WebSocketRoute
from localstage.gateway import Gateway
from tests.contract.localstage.gateway.gateway_fakes import FakeFunctions, Raises, eventually, running, websocket_model

SUBPROTOCOL = "route.request.header.Sec-WebSocket-Protocol"
TOKEN = "a.secret.token"

ROUTES = (
    WebSocketRoute("$connect", "Open", False, timeout=0.5),
    WebSocketRoute("$disconnect", "Close", False),
    WebSocketRoute("$default", "Receive", True),
)


def policy(effect: str = "Allow", **context: Any) -> dict[str, Any]:
    statement = {"Action": "execute-api:Invoke", "Effect": effect, "Resource": "*"}
    return {
        "principalId": "alice",
        "policyDocument": {"Version": "2012-10-17", "Statement": [statement]},
        "context": context,
    }


@pytest.fixture
def functions() -> FakeFunctions:
    made = FakeFunctions()
    made.handlers["Authorize"] = lambda event: policy(sub="alice", exp=7, admin=True, nothing=None)
    made.handlers["Open"] = lambda event: {"statusCode": 200, "headers": {"sec-websocket-protocol": "headrace.v1"}}
    made.handlers["Close"] = lambda event: {"statusCode": 200}
    made.handlers["Receive"] = lambda event: {"statusCode": 200, "body": "x"}
    return made


class Api:
    """A WebSocket API and a client of it."""

    def __init__(self, gateway: Gateway, client: aiohttp.ClientSession) -> None:
        self.url = str(gateway.websocket_url)
        self._client = client

    async def connect(self, query: str = "") -> aiohttp.ClientWebSocketResponse:
        return await self._client.ws_connect(f"{self.url}{query}", protocols=("headrace.v1", TOKEN))

    async def refusal(self) -> int:
        """Return the status with which a connection is refused."""
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await self.connect()
        return refused.value.status


@pytest.fixture
async def serve(functions: FakeFunctions) -> AsyncIterator[Any]:
    async with AsyncExitStack() as stack:

        async def start(*sources: str, routes: tuple[WebSocketRoute, ...] = ROUTES, **api: Any) -> Api:
            model = websocket_model(*routes, sources=sources, **api)
            gateway = await stack.enter_async_context(running(model, functions))
            return Api(gateway, await stack.enter_async_context(aiohttp.ClientSession()))

        yield start


async def test_the_authorizer_gets_a_request_event(functions: FakeFunctions, serve: Any) -> None:
    api = await serve(SUBPROTOCOL)

    async with await api.connect("?room=a"):
        pass

    (event,) = functions.of("Authorize")
    (opened,) = functions.of("Open")
    assert event["type"] == "REQUEST"
    api_id = event["requestContext"]["apiId"]
    assert event["methodArn"] == f"arn:aws:execute-api:us-east-1:123456789012:{api_id}/dev/$connect"
    assert event["headers"]["Sec-WebSocket-Protocol"] == f"headrace.v1,{TOKEN}"
    assert event["multiValueHeaders"]["Sec-WebSocket-Protocol"] == [f"headrace.v1,{TOKEN}"]
    assert event["queryStringParameters"] == {"room": "a"}
    assert event["requestContext"]["routeKey"] == "$connect"
    assert event["requestContext"]["eventType"] == "CONNECT"
    assert event["requestContext"]["connectionId"] == opened["requestContext"]["connectionId"]
    assert "authorizer" not in event["requestContext"]


async def test_the_authorizers_context_is_in_every_later_event_as_texts(functions: FakeFunctions, serve: Any) -> None:
    api = await serve(SUBPROTOCOL)

    async with await api.connect() as socket:
        await socket.send_str("hello")
        await socket.receive_str()
    await eventually(lambda: functions.of("Close"))

    for name in ("Open", "Receive", "Close"):
        (event,) = functions.of(name)
        assert event["requestContext"]["authorizer"] == {
            "principalId": "alice",
            "sub": "alice",
            "exp": "7",
            "admin": "true",
        }


@pytest.mark.parametrize(
    ("function", "answer", "status"),
    [
        ("Authorize", {**policy(), "policyDocument": {"Statement": []}}, 403),
        ("Authorize", policy("Deny"), 403),
        ("Authorize", Raises(message="Unauthorized"), 401),
        ("Authorize", Raises(), 500),
        ("Authorize", {"isAuthorized": True}, 500),
        ("Authorize", policy(nested={"a": 1}), 500),
        ("Authorize", policy(big="x" * 9000), 500),
        ("Authorize", b"not json", 500),
        ("Open", {"statusCode": 403}, 403),
        ("Open", Raises(), 502),
        ("Open", {"body": "no status"}, 502),
    ],
)
async def test_a_refusal_or_failure_of_authorizer_or_connect_refuses_the_connection(
    functions: FakeFunctions, serve: Any, function: str, answer: Any, status: int
) -> None:
    functions.handlers[function] = lambda event: answer
    api = await serve(SUBPROTOCOL)

    assert await api.refusal() == status
    assert functions.of("Close") == []
    assert function == "Open" or functions.of("Open") == []


async def test_more_connections_than_the_throttle_allows_are_a_429(serve: Any) -> None:
    api = await serve(SUBPROTOCOL, throttle=Throttle(rate=0.0001, burst=1))

    async with await api.connect():
        assert await api.refusal() == 429


async def test_disconnect_runs_for_a_client_that_left_during_connect(functions: FakeFunctions, serve: Any) -> None:
    go_on = asyncio.Event()

    async def slow(event: Any) -> Any:
        await go_on.wait()
        return {"statusCode": 200}

    functions.handlers["Open"] = slow
    api = await serve(routes=(WebSocketRoute("$connect", "Open", False), *ROUTES[1:]))
    leaving = asyncio.create_task(api.connect())
    await eventually(lambda: functions.of("Open"))
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)

    go_on.set()

    await eventually(lambda: functions.of("Close"))
    assert functions.of("Close")[0]["requestContext"]["disconnectStatusCode"] == 1006
