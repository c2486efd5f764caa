"""Each server of the stage answers programs of this machine, and no page of another origin."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from localstage.console.pages import ConsolePages
from localstage.core.errors import ServiceError
from localstage.gateway import Issuer
from localstage.gateway.serving import LINKED
from localstage.reference.pages import ReferencePages
from localstage.services.endpoints import Endpoints
from localstage.status import StatusServer
from tests.contract.emulators import Emulators
from tests.contract.localstage.services.objects_harness import (
    TOKEN,
    stage_of_objects,  # noqa: F401 - a fixture
)

ROOT = Path(__file__).parents[3]
DYNAMODB = {
    "X-Amz-Target": "DynamoDB_20120810.ListTables",
    "Content-Type": "application/x-amz-json-1.0",
    "Authorization": "AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request, SignedHeaders=host, Signature=e",
    "X-Amz-Date": "20260101T000000Z",
}
SQS = {"X-Amz-Target": "AmazonSQS.ListQueues", "Content-Type": "application/x-amz-json-1.0"}
PAGES = [
    {"Host": "evil.example"},
    {"Host": "127.999.0.1"},
    {"Origin": "http://evil.example"},
    {"Origin": "http://evil.example", "Content-Type": "text/plain"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]
"""Headers of other pages: by DNS rebinding, by fetch(), from a sandbox, from another port, and without CORS."""


@dataclass
class Services:
    """Services that only record what is killed."""

    killed: list[tuple[str, float]] = field(default_factory=list)

    def status(self) -> list[str]:
        return []

    def kill(self, name: str, seconds: float) -> str:
        if name != "Redis":
            raise ServiceError(f"there is no service {name!r} to kill")
        self.killed.append((name, seconds))
        return name


@dataclass(frozen=True)
class Server:
    """A server, and a request that it answers with 200."""

    method: str
    url: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    async def ask(self, **headers: str) -> tuple[int, str, Any]:
        """Send the request with more headers; the status, the body, and the answer's headers."""
        async with aiohttp.ClientSession() as session:
            sent = session.request(self.method, self.url, data=self.body, headers={**self.headers, **headers})
            async with sent as answer:
                return answer.status, await answer.text(), answer.headers


@pytest.fixture
async def services() -> Services:
    return Services()


@pytest.fixture
async def status(services: Services, issuer: Issuer, tmp_path: Path) -> AsyncIterator[StatusServer]:
    given = (ROOT / "template.yaml", tmp_path)
    http_url, websocket_url = "http://127.0.0.1:1", "ws://127.0.0.1:1/local"
    endpoints = Endpoints("", "", "", "", "", "guest", "guest", "http://127.0.0.1:9", "", "")
    pages = ReferencePages(*given, http_url, websocket_url)
    console = ConsolePages(*given, issuer, endpoints, http_url)
    server = StatusServer(services, Services(), Services(), pages, console, issuer)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture(
    params=[
        "dynalite",
        "capacity",
        "MiniStack",
        "SQS by GET",
        "status",
        "reference",
        "kill",
        "keys",
        "token",
        "console",
        "audit",
    ]
)
def server(request: pytest.FixtureRequest, emulators: Emulators, status: StatusServer, issuer: Issuer) -> Server:
    """Every server of the stage that checks no access token, by what it would give away."""
    servers = {
        "dynalite": Server("POST", emulators.dynamodb_url, b"{}", DYNAMODB),
        "capacity": Server("GET", f"{emulators.dynamodb_url}/consumed-capacity"),
        "MiniStack": Server("POST", f"{emulators.sqs_url}/", b"{}", SQS),
        "SQS by GET": Server("GET", f"{emulators.sqs_url}/?Action=ListQueues"),
        "status": Server("GET", status.url),
        "reference": Server("GET", f"{status.url}openapi.json"),
        "kill": Server("POST", status.kill_url, b'{"service": "Redis", "seconds": 1}'),
        "console": Server("GET", status.kill_url.replace("/kill", "/console/counts")),
        "audit": Server("GET", status.kill_url.replace("/kill", "/console/audit")),
        "keys": Server("GET", f"{issuer.url}/.well-known/jwks.json"),
        "token": Server("POST", issuer.token_url, b'{"user": "alice", "scopes": []}'),
    }
    found: Server = servers[request.param]
    return found


async def test_a_page_of_another_origin_is_refused_by_every_server(server: Server, services: Services) -> None:
    for page in PAGES:
        code, body, headers = await server.ask(**page)

        name, value = next(iter(page.items()))
        assert code == 403, page
        assert f"{name}: '{value}'" in body
        assert "Access-Control-Allow-Origin" not in headers
    assert services.killed == []


async def test_a_link_on_another_page_is_answered_with_a_sentence(status: StatusServer) -> None:
    link = {"Accept": "text/html", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}

    assert (await Server("GET", status.url).ask(**link))[:2] == (403, LINKED)


@pytest.mark.parametrize("emulator", ["dynalite", "capacity", "MiniStack"])
async def test_an_emulator_refuses_other_users_who_have_no_session_token(stage: Emulators, emulator: str) -> None:
    servers = {
        "dynalite": Server("POST", stage.dynamodb_url, b"{}", DYNAMODB),
        "capacity": Server("GET", f"{stage.dynamodb_url}/consumed-capacity"),
        "MiniStack": Server("POST", stage.sqs_url, b"{}", SQS),
    }
    server = servers[emulator]

    for headers in ({}, {"X-Amz-Security-Token": "guessed"}):
        code, body, _ = await server.ask(**headers)
        assert code == 403
        assert "X-Amz-Security-Token: " in body
    assert (await server.ask(**{"X-Amz-Security-Token": TOKEN}))[0] == 200


@pytest.mark.parametrize("query", ["", "?secret=", "?secret=guessed"])
async def test_another_user_of_the_machine_kills_nothing(services: Services, status: StatusServer, query: str) -> None:
    code, _, _ = await Server("POST", f"{status.url}kill{query}", b'{"service": "Redis", "seconds": 1}').ask()

    assert code == 403
    assert services.killed == []
