"""An HTTP API over loopback: routes, throttles, CORS, limits of a request."""

from __future__ import annotations

import io

import pytest
from yarl import URL

from localstage.core.model import Cors, HttpRoute, Throttle
from tests.contract.localstage.gateway.gateway_fakes import (
    FakeFunctions,
    Serve,
    echoing_functions,  # noqa: F401 - a fixture
    serving,  # noqa: F401 - a fixture
)


@pytest.mark.parametrize("path", ["/rooms/r%2Fmembers%2Ffred", "/rooms/r/members/dave%3Fx", "/rooms/r%3fx"])
async def test_an_encoded_slash_or_question_mark_leads_to_no_route(
    functions: FakeFunctions, serve: Serve, path: str
) -> None:
    client = await serve("PUT /rooms/{roomId}", "PUT /rooms/{roomId}/members/{userId}")

    async with client.put(URL(path, encoded=True)) as response:
        assert response.status == 404

    assert functions.events == []


async def test_the_stages_throttle_counts_all_routes_without_their_own(serve: Serve) -> None:
    once = Throttle(rate=0.0001, burst=1)
    client = await serve("GET /a", "GET /b", HttpRoute("GET /own", "Echo", None, throttle=once), throttle=once)

    async with client.get("/a") as first, client.get("/own") as own, client.get("/b") as second:
        assert (first.status, own.status, second.status) == (200, 200, 429)
        assert await second.json() == {"message": "Too Many Requests"}


@pytest.mark.parametrize(("origin", "allowed"), [("https://a.example", "https://a.example"), ("https://evil", None)])
async def test_only_pages_of_an_allowed_origin_may_ask_and_read(
    functions: FakeFunctions, serve: Serve, origin: str, allowed: str | None
) -> None:
    cors = Cors(("https://a.example",), ("GET",), ("authorization",), expose_headers=(), max_age=600)
    client = await serve("GET /", cors=cors)

    async with client.options("/", headers={"Origin": origin, "Access-Control-Request-Method": "GET"}) as preflight:
        assert (preflight.status, preflight.headers.get("Access-Control-Allow-Origin")) == (204, allowed)
    async with client.get("/nowhere", headers={"Origin": origin}) as refusal:
        assert (refusal.status, refusal.headers.get("Access-Control-Allow-Origin")) == (404, allowed)
    assert functions.events == []


@pytest.mark.parametrize("size", [6 * 1024 * 1024, 10 * 1024 * 1024 + 1])
async def test_a_body_over_lambdas_6_mb_or_the_gateways_10_mb_is_a_413(
    functions: FakeFunctions, serve: Serve, size: int
) -> None:
    client = await serve("POST /")

    async with client.post("/", data=io.BytesIO(b"x" * size), headers={"Content-Type": "text/plain"}) as response:
        assert response.status == 413
        assert await response.json() == {"message": "Request Entity Too Large"}
    assert functions.events == []


async def test_a_client_that_expects_100_continue_gets_it(functions: FakeFunctions, serve: Serve) -> None:
    client = await serve("POST /")

    async with client.post("/", data="hi", headers={"Content-Type": "text/plain"}, expect100=True) as response:
        assert response.status == 200
    assert functions.of("Echo")[0]["body"] == "hi"


async def test_request_line_and_headers_may_have_10240_bytes(serve: Serve) -> None:
    client = await serve("GET /")

    async with client.get("/", headers={"X-Big": "x" * 9_000}) as fits:
        assert fits.status == 200
    async with client.get("/", headers={"X-A": "x" * 6_000, "X-B": "x" * 6_000}) as headers:
        assert headers.status == 431
    async with client.get("/" + "x" * 11_000) as line:
        assert line.status == 414
