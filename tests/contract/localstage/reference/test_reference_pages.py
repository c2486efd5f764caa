"""A stage serves the API reference with its own addresses, on pages that load nothing from other hosts."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from localstage.core.errors import ServiceError
from localstage.reference.pages import ReferencePages
from localstage.status import StatusServer

ROOT = Path(__file__).parents[4]
HTTP_URL, WEBSOCKET_URL = "http://127.0.0.1:9787", "ws://127.0.0.1:9788/local"


class Nothing:
    def status(self) -> list[str]:
        return []


class Packages:
    """The npm packages, with scripted results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fails = False
        self.installs = 0

    async def __call__(self) -> Path:
        self.installs += 1
        if self.fails:
            raise ServiceError("npm could not install the API reference: no network")
        return self.folder


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    (tmp_path / "swagger-ui-dist").mkdir()
    (tmp_path / "swagger-ui-dist" / "swagger-ui-bundle.js").write_text("// Swagger UI")
    return Packages(tmp_path)


@pytest.fixture
async def client(packages: Packages, tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    pages = ReferencePages(ROOT / "template.yaml", tmp_path, HTTP_URL, WEBSOCKET_URL, packages)
    server = StatusServer(None, Nothing(), Nothing(), pages)
    await server.start()
    async with aiohttp.ClientSession(server.url) as session:
        yield session
    await server.stop()


async def test_the_documents_name_the_running_stage_as_their_server(client: aiohttp.ClientSession) -> None:
    http = await (await client.get("/openapi.json")).json()
    websocket = await (await client.get("/asyncapi.json")).json()

    assert http["servers"] == [{"url": HTTP_URL, "description": "The local stage"}]
    server = websocket["servers"]["local"]
    assert (server["protocol"], server["host"], server["pathname"]) == ("ws", "127.0.0.1:9788", "/local")
    committed = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text())
    assert http["paths"] == committed["paths"]


@pytest.mark.parametrize("path", ["/docs", "/docs/http-api.md", "/docs/websocket-api.md", "/docs/scopes.md"])
async def test_a_page_loads_nothing_from_other_hosts(client: aiohttp.ClientSession, path: str) -> None:
    answer = await client.get(path)
    text = await answer.text()

    assert (answer.status, answer.content_type) == (200, "text/html")
    assert re.findall(r'(?:src|<link[^>]* href)="((?!/docs/|data:,)[^"]*)', text) == []
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'")


async def test_the_links_of_a_page_lead_to_headings_that_exist(client: aiohttp.ClientSession) -> None:
    text = await (await client.get("/docs/websocket-api.md")).text()

    links = re.findall(r'href="([\w-]+\.md)#([\w-]+)"', text)
    assert links
    for page, anchor in links:
        assert f'id="{anchor}"' in await (await client.get(f"/docs/{page}")).text()


async def test_swagger_ui_is_installed_at_the_first_request(client: aiohttp.ClientSession, packages: Packages) -> None:
    await client.get("/docs")
    assert packages.installs == 0

    answer = await client.get("/docs/swagger-ui-bundle.js")

    assert (answer.content_type, await answer.text()) == ("text/javascript", "// Swagger UI")
    assert packages.installs == 1


async def test_a_failed_install_is_answered_with_its_reason(client: aiohttp.ClientSession, packages: Packages) -> None:
    packages.fails = True

    answer = await client.get("/docs/swagger-ui-bundle.js")

    assert (answer.status, (await answer.json())["message"]) == (
        503,
        "npm could not install the API reference: no network",
    )


@pytest.mark.parametrize("path", ["/docs/unknown.md", "/docs/pages.py", "/docs/%2e%2e/status.py", "/unknown"])
async def test_other_paths_are_not_found(client: aiohttp.ClientSession, path: str) -> None:
    assert (await client.get(path)).status == 404


async def test_the_status_is_still_at_the_root(client: aiohttp.ClientSession) -> None:
    assert await (await client.get("/")).json() == {"services": [], "functions": [], "triggers": []}


async def test_a_project_without_a_reference_has_no_documents(packages: Packages, tmp_path: Path) -> None:
    pages = ReferencePages(tmp_path / "template.yaml", tmp_path, HTTP_URL, WEBSOCKET_URL, packages)
    server = StatusServer(None, Nothing(), Nothing(), pages)
    await server.start()
    async with aiohttp.ClientSession(server.url) as session:
        assert (await session.get("/openapi.json")).status == 404
    await server.stop()
