"""A stage serves the API reference with its own addresses, on pages that load nothing from other hosts."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from yarl import URL

from localstage.console.pages import ConsolePages
from localstage.core.errors import StageError
from localstage.gateway import Issuer
from localstage.reference.pages import ReferencePages
from localstage.services.endpoints import Endpoints
from localstage.status import StatusServer

ROOT = Path(__file__).parents[4]
HTTP_URL, WEBSOCKET_URL = "http://127.0.0.1:9787", "ws://127.0.0.1:9788/local"


class Nothing:
    def status(self) -> list[str]:
        return []


async def no_packages() -> Path:
    raise StageError("npm does not answer")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    pages = ReferencePages(ROOT / "template.yaml", tmp_path, HTTP_URL, WEBSOCKET_URL, no_packages)
    issuer = Issuer(tmp_path)
    broker = "http://127.0.0.1:9"  # nothing listens there
    endpoints = Endpoints("", "", "", "", "", "guest", "guest", broker, "", "")
    console = ConsolePages(ROOT / "template.yaml", tmp_path, issuer, endpoints, HTTP_URL)
    server = StatusServer(None, Nothing(), Nothing(), pages, console, issuer)
    await server.start()
    async with aiohttp.ClientSession(server.url) as session:
        yield session
    await server.stop()


@pytest.mark.parametrize("path", ["/docs", "/docs/http-api.md", "/docs/websocket-api.md", "/docs/scopes.md"])
async def test_a_page_loads_nothing_from_other_hosts(client: aiohttp.ClientSession, path: str) -> None:
    answer = await client.get(path)
    text = await answer.text()

    assert (answer.status, answer.content_type) == (200, "text/html")
    assert re.findall(r'(?:src|<link[^>]* href)="((?!/docs/|data:,)[^"]*)', text) == []
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'")


@pytest.mark.parametrize("path", ["package.json", "..%2fREADME.md", "..%2fclients/typescript/build.mjs", "none.js"])
async def test_the_console_serves_its_own_files_only(client: aiohttp.ClientSession, path: str) -> None:
    assert (await client.get(URL(f"/console/{path}", encoded=True))).status == 404


async def test_what_only_the_local_stage_tells_the_console_needs_its_secret(
    client: aiohttp.ClientSession, tmp_path: Path
) -> None:
    secret = {"secret": Issuer(tmp_path).secret}
    (tmp_path / "logs").mkdir()

    for path in ("/console/counts", "/console/trace", "/console/poison"):
        assert (await client.get(path)).status == 403
    counts = await (await client.get("/console/counts", params=secret)).json()
    assert (counts["sums"], counts["events"]) == ([], [])
    assert await (await client.get("/console/trace", params={**secret, "id": "m-1"})).json() == {"steps": []}
    assert (await client.get("/console/poison", params=secret)).status == 405
    refused = await client.post("/console/poison", params=secret)
    assert (refused.status, (await refused.json())["message"][:27]) == (503, "RabbitMQ does not take it: ")


async def test_a_library_that_cannot_be_installed_is_a_503_whose_reason_is_in_the_terminal(
    client: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await client.get("/docs/swagger-ui-bundle.js")

    assert (answer.status, await answer.json()) == (503, {"message": "npm does not answer"})
    assert "503 for /docs/swagger-ui-bundle.js: npm does not answer" in caplog.text
