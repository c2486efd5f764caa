"""CORS of an HTTP API: preflights and the headers of answers."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest

from localstage.core.model import Cors, HttpRoute
from tests.contract.localstage.gateway.gateway_fakes import FakeFunctions, http_model, running

SITE = "https://chat.example"
CORS = Cors(
    allow_origins=(SITE,),
    allow_methods=("GET", "POST"),
    allow_headers=("authorization", "content-type"),
    expose_headers=("retry-after",),
    max_age=600,
)
ROUTES = (HttpRoute("GET /rooms", "Echo", None), HttpRoute("GET /guarded", "Echo", "Jwt"))
ISSUER = "http://127.0.0.1:1/UserPool"


@pytest.fixture
def functions() -> FakeFunctions:
    made = FakeFunctions()
    made.handlers["Echo"] = lambda event: {
        "statusCode": 200,
        "headers": {"access-control-allow-origin": "*", "Access-Control-Allow-Methods": "DELETE", "X-Own": "1"},
        "body": "x",
    }
    return made


@pytest.fixture
async def client(functions: FakeFunctions) -> AsyncIterator[aiohttp.ClientSession]:
    model = http_model(*ROUTES, issuer=ISSUER, cors=CORS)
    async with running(model, functions) as gateway, aiohttp.ClientSession(gateway.http_url) as session:
        yield session


def preflight(origin: str) -> dict[str, str]:
    return {"Origin": origin, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}


def cors_headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    return {
        name.lower().removeprefix("access-control-"): value
        for name, value in response.headers.items()
        if name.lower().startswith("access-control-")
    }


@pytest.mark.parametrize("path", ["/rooms", "/guarded", "/nowhere"])
async def test_a_preflight_is_answered_by_the_gateway_itself(
    client: aiohttp.ClientSession, functions: FakeFunctions, path: str
) -> None:
    async with client.options(path, headers=preflight(SITE)) as response:
        assert response.status == 204
        assert cors_headers(response) == {
            "allow-origin": SITE,
            "allow-methods": "GET,POST",
            "allow-headers": "authorization,content-type",
            "max-age": "600",
        }
    assert functions.events == []


async def test_a_preflight_from_elsewhere_gets_no_cors_headers(client: aiohttp.ClientSession) -> None:
    async with client.options("/rooms", headers=preflight("https://evil.example")) as response:
        assert response.status == 204
        assert cors_headers(response) == {}


async def test_a_functions_own_cors_headers_are_replaced(client: aiohttp.ClientSession) -> None:
    async with client.get("/rooms", headers={"Origin": SITE}) as response:
        assert cors_headers(response) == {"allow-origin": SITE, "expose-headers": "retry-after"}
        assert response.headers["Vary"] == "Origin"
        assert response.headers["X-Own"] == "1"


async def test_a_browser_can_read_a_refusal(client: aiohttp.ClientSession) -> None:
    async with client.get("/guarded", headers={"Origin": SITE}) as response:
        assert response.status == 401
        assert cors_headers(response)["allow-origin"] == SITE
