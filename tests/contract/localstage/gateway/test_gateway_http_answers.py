"""The response of an HTTP API to a function's answer, or to its failure."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from localstage.core.model import HttpRoute
from tests.contract.localstage.gateway.gateway_fakes import (
    FakeFunctions,
    Raises,
    Serve,
    echoing_functions,  # noqa: F401 - a fixture
    serving,  # noqa: F401 - a fixture
)


@pytest.mark.parametrize(
    "answer",
    [
        {"statusCode": "soon"},
        {"statusCode": 99},
        {"statusCode": 200, "body": {"not": "text"}},
        {"statusCode": 200, "headers": "none"},
        {"statusCode": 200, "body": "aGk=", "isBase64Encoded": True},
        None,
        b"not json",
        Raises(),
        Raises("TimedOut"),
    ],
)
async def test_a_failure_or_a_malformed_answer_is_a_500(functions: FakeFunctions, serve: Serve, answer: Any) -> None:
    functions.handlers["Echo"] = lambda event: answer
    client = await serve("GET /")

    async with client.get("/") as response:
        assert response.status == 500
        assert await response.json() == {"message": "Internal Server Error"}
        assert response.headers["apigw-requestid"]


async def test_an_integration_timeout_is_a_503_and_does_not_stop_the_function(
    functions: FakeFunctions, serve: Serve
) -> None:
    go_on = asyncio.Event()

    async def slow(event: Any) -> Any:
        await go_on.wait()
        return {"statusCode": 200}

    functions.handlers["Slow"] = slow
    client = await serve(HttpRoute("GET /", "Slow", None, timeout=0.05))

    async with client.get("/") as response:
        assert response.status == 503
        assert await response.json() == {"message": "Service Unavailable"}

    go_on.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert functions.finished == ["Slow"]
