"""The activity of connections and their end, over the management API of the local stage's gateway."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import WSMsgType

from headrace.core.errors import Unavailable
from headrace.features.operations.connection_routes import ConnectionManager
from headrace.runtime.aws import client
from tests.contract.localstage.gateway.test_gateway_management import (
    Connected,
    connected,  # noqa: F401 - a fixture
    functions,  # noqa: F401 - a fixture
)

UNKNOWN = "AAAAAAAAAAAAAAA="


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("DEFAULT_REGION", "us-east-1"), ("ACCESS_KEY_ID", "k"), ("SECRET_ACCESS_KEY", "s")):
        monkeypatch.setenv(f"AWS_{name}", value)


def manager(url: str | None, monkeypatch: pytest.MonkeyPatch) -> ConnectionManager:
    monkeypatch.setenv("AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI", str(url))
    return ConnectionManager(client("apigatewaymanagementapi", attempts=1))


async def test_a_connection_is_described_and_closed(
    connected: Connected,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = manager(connected.management_url, monkeypatch)

    found = await asyncio.to_thread(made.activity, connected.id)
    assert found is not None
    assert "2026" <= found.connected_at <= found.last_active_at
    reading = asyncio.create_task(connected.socket.receive())
    assert await asyncio.to_thread(made.close, connected.id)

    message = await reading
    assert (message.type, message.data) == (WSMsgType.CLOSE, 1000)


async def test_a_closed_connection_has_no_activity_and_is_not_closed_again(
    connected: Connected,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = manager(connected.management_url, monkeypatch)

    assert await asyncio.to_thread(made.activity, UNKNOWN) is None
    assert await asyncio.to_thread(made.close, UNKNOWN) is False


def test_a_gateway_that_does_not_answer_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    made = manager("http://127.0.0.1:9/dev", monkeypatch)

    for call in (made.activity, made.close):
        with pytest.raises(Unavailable, match="connections cannot be reached"):
            call(UNKNOWN)
