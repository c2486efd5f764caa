"""Shared by the gateway's tests: functions in memory, models with one API, and fixtures that serve them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from localstage.core.invoker import Invocation
from localstage.core.model import (
    HttpApi,
    HttpRoute,
    JwtAuthorizer,
    StageModel,
    WebSocketApi,
    WebSocketAuthorizer,
    WebSocketRoute,
)
from localstage.gateway import Gateway
from localstage.gateway.issuer import CLIENT_ID
from localstage.gateway.websocket_connection import Limits

Answer = Any
Serve = Callable[..., Any]
AUDIENCE = CLIENT_ID

CONNECT = WebSocketRoute("$connect", "Open", False)
DISCONNECT = WebSocketRoute("$disconnect", "Close", False)
DEFAULT = WebSocketRoute("$default", "Receive", True)
SEND = WebSocketRoute("send", "Send", True)
ALL = (CONNECT, DISCONNECT, DEFAULT, SEND)


class Raises:
    """A handler that fails as a Lambda function does."""

    def __init__(self, error: str = "Unhandled", message: str = "boom") -> None:
        self.invocation = Invocation(json.dumps({"errorMessage": message}).encode(), error)


class FakeFunctions:
    """Runs plain callables as functions, and records their events."""

    def __init__(self) -> None:
        self.handlers: dict[str, Callable[[dict[str, Any]], Answer | Awaitable[Answer]]] = {}
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.finished: list[str] = []

    def of(self, function_id: str) -> list[dict[str, Any]]:
        """Return the events that a function received."""
        return [event for name, event in self.events if name == function_id]

    def log_tail(self, function_id: str) -> str:
        return ""

    async def invoke(self, function_id: str, event: bytes, *, dedicated_to: str | None = None) -> Invocation:
        handler = self.handlers[function_id]
        value = json.loads(event)
        self.events.append((function_id, value))
        answer = handler(value)
        if isinstance(answer, Awaitable):
            answer = await answer
        self.finished.append(function_id)
        if isinstance(answer, Raises):
            return answer.invocation
        return Invocation(answer if isinstance(answer, bytes) else json.dumps(answer).encode())


async def eventually(holds: Callable[[], Any], seconds: float = 10.0) -> None:
    """Wait until a condition holds; fails after ``seconds``."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - what is awaited is in other hands
            await asyncio.sleep(0.005)


def http_model(*routes: HttpRoute, issuer: str = "", **api: Any) -> StageModel:
    """Return a model with one HTTP API; routes with authorizer ``Jwt`` need an issuer."""
    authorizers = {"Jwt": JwtAuthorizer("Jwt", issuer, (AUDIENCE,))} if issuer else {}
    declared = HttpApi("HttpApi", routes, api.pop("authorizers", authorizers), api.pop("cors", None), **api)
    return StageModel(http_apis={"HttpApi": declared})


def websocket_model(
    *routes: WebSocketRoute, sources: tuple[str, ...] | None = None, selection: str = "$request.body.action", **api: Any
) -> StageModel:
    """Return a model with one WebSocket API; ``sources`` gives it an authorizer, the function Authorize."""
    authorizer = None if sources is None else WebSocketAuthorizer("Authorize", sources)
    declared = WebSocketApi("WebSocketApi", "dev", selection, {route.key: route for route in routes}, authorizer, **api)
    return StageModel(websocket_apis={"WebSocketApi": declared})


@cache
def _issuer_key() -> bytes:
    """One RSA key for all tests, because creating a key is slow."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def with_key(state_dir: Path) -> Path:
    """Put the tests' key into a stage's folder that has none; returns the folder."""
    if not (state_dir / "issuer.pem").exists():
        (state_dir / "issuer.pem").write_bytes(_issuer_key())
    return state_dir


@asynccontextmanager
async def running(
    model: StageModel,
    functions: FakeFunctions,
    *,
    limits: Limits | None = None,
) -> AsyncIterator[Gateway]:
    """A gateway that serves a model."""
    gateway = Gateway(model, functions, limits=limits)
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()


@pytest.fixture(name="functions")
def echoing_functions() -> FakeFunctions:
    made = FakeFunctions()
    made.handlers["Echo"] = lambda event: {"statusCode": 200, "body": event["routeKey"]}
    return made


@pytest.fixture(name="serve")
async def serving(functions: FakeFunctions) -> AsyncIterator[Serve]:
    """Serves routes to Echo (or a whole model) and returns a client session based at the API."""
    async with AsyncExitStack() as stack:

        async def start(*routes: str | HttpRoute, **api: Any) -> aiohttp.ClientSession:
            declared = [HttpRoute(route, "Echo", None) if isinstance(route, str) else route for route in routes]
            gateway = await stack.enter_async_context(running(http_model(*declared, **api), functions))
            return await stack.enter_async_context(aiohttp.ClientSession(gateway.http_url))

        yield start


@pytest.fixture(name="functions")
def conversing_functions() -> FakeFunctions:
    made = FakeFunctions()
    made.handlers["Open"] = made.handlers["Close"] = lambda event: {"statusCode": 200}
    made.handlers["Receive"] = lambda event: {"statusCode": 200, "body": f"default {event['body']}"}
    made.handlers["Send"] = lambda event: {"statusCode": 200, "body": f"sent {event['body']}"}
    return made


@pytest.fixture(name="connect")
async def connecting(functions: FakeFunctions) -> AsyncIterator[Serve]:
    """Serves routes and opens a connection to them."""
    async with AsyncExitStack() as stack:

        async def start(
            *routes: WebSocketRoute, limits: Limits | None = None, **api: Any
        ) -> aiohttp.ClientWebSocketResponse:
            model = websocket_model(*(routes or ALL), **api)
            gateway = await stack.enter_async_context(running(model, functions, limits=limits))
            client = await stack.enter_async_context(aiohttp.ClientSession())
            return await stack.enter_async_context(client.ws_connect(gateway.websocket_url, max_msg_size=0))

        yield start
