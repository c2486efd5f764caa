"""An HTTP API over loopback: routes, throttles, limits of a request, ports."""

from __future__ import annotations

import io
import json

import pytest
from yarl import URL

from localstage.core.model import HttpRoute, Throttle
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


async def test_more_than_the_throttle_allows_is_a_429(serve: Serve) -> None:
    client = await serve(
        HttpRoute("GET /slow", "Echo", None, throttle=Throttle(rate=0.0001, burst=2)), "GET /free", throttle=None
    )

    statuses = []
    for _ in range(3):
        async with client.get("/slow") as response:
            statuses.append(response.status)
            answer = await response.text()
    async with client.get("/free") as response:
        free = response.status

    assert statuses == [200, 200, 429]
    assert json.loads(answer) == {"message": "Too Many Requests"}
    assert free == 200


async def test_the_stages_throttle_counts_all_routes_without_their_own(serve: Serve) -> None:
    client = await serve("GET /a", "GET /b", throttle=Throttle(rate=0.0001, burst=1))

    async with client.get("/a") as first, client.get("/b") as second:
        assert (first.status, second.status) == (200, 429)


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
