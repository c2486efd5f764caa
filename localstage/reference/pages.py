"""``/openapi.json``, ``/asyncapi.json`` and ``/docs``: the files of ``docs/reference`` beside the template.

``/headrace-client.js`` is the TypeScript client as one ES module, for pages of any origin. Everything is read at the
request. Swagger UI and the client are made at their first request: the start of a stage does not wait for them. The
pages load nothing from other hosts, which their Content-Security-Policy enforces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from localstage.gateway.serving import file_response, json_response, made_file_response
from localstage.services.install import ensure_node_packages
from localstage.services.typescript_client import ensure_typescript_client

_HERE = Path(__file__).parent
_OWN = ("reference.css", "reference.js")
_SWAGGER = ("swagger-ui.css", "swagger-ui-bundle.js")
_POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
CLIENT = "/headrace-client.js"
_MARKDOWN = re.compile(r"/docs/([a-z-]+)\.md")


class ReferencePages:
    """Answers requests for the reference.

    Args:
        template: the template; ``docs/reference`` beside it has the documents, and without them answers are 404.
        state_dir: the stage's folder, which Swagger UI is installed in, and the client is built in.
        http_url: the running HTTP API, which the documents name as their server.
        websocket_url: the running WebSocket API.
        install: returns the folder of npm's packages; tests replace it.
    """

    def __init__(
        self,
        template: Path,
        state_dir: Path,
        http_url: str | None,
        websocket_url: str | None,
        install: Callable[[], Awaitable[Path]] | None = None,
    ) -> None:
        project = template.resolve().parent
        self._folder = project / "docs" / "reference"
        self._http_url = http_url or ""
        self._websocket_url = websocket_url or ""
        self._install = install or (
            lambda: ensure_node_packages(state_dir, _HERE / "node", "reference", "the API reference")
        )
        self._state_dir = state_dir
        self._project = project

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse | None:
        """The answer to a request for the reference; ``None`` for any other."""
        path = request.path
        if path in ("/openapi.json", "/asyncapi.json"):
            return self._document(path[1:])
        if path in ("/docs", "/docs/"):
            return self._page("HTTP API", '<div id="swagger"></div><script src="/docs/swagger-ui-bundle.js"></script>')
        if (found := _MARKDOWN.fullmatch(path)) is not None:
            return self._markdown(f"{found[1]}.md")
        name = path.removeprefix("/docs/")
        if name in _OWN:
            return file_response(_HERE / name)
        if name in _SWAGGER:
            return await made_file_response(self._install(), f"swagger-ui-dist/{name}", request)
        if path == CLIENT:
            client = ensure_typescript_client(self._state_dir, self._project)
            response = await made_file_response(client, "dist/index.min.js", request)
            response.headers["Access-Control-Allow-Origin"] = "*"
            return response
        return None

    def _document(self, name: str) -> web.Response | None:
        text = _text(self._folder / name)
        if text is None:
            return None
        document: dict[str, Any] = json.loads(text)
        if name == "openapi.json":
            document["servers"] = [{"url": self._http_url, "description": "The local stage"}]
        else:
            url = urlsplit(self._websocket_url)
            document["servers"]["local"] |= {"host": url.netloc, "pathname": url.path, "protocol": url.scheme}
        return json_response(200, document)

    def _markdown(self, name: str) -> web.Response | None:
        # Not at the top: a stage starts without it.
        from localstage.reference.markdown import html

        text = _text(self._folder / name)
        return None if text is None else self._page(name.removesuffix(".md"), f'<main class="page">{html(text)}</main>')

    def _page(self, title: str, content: str) -> web.Response:
        page = Template((_HERE / "page.html").read_text()).substitute(title=title, content=content)
        headers = {"Content-Security-Policy": f"{_POLICY}; connect-src 'self' {self._http_url}"}
        return web.Response(text=page, content_type="text/html", headers=headers)


def _text(path: Path) -> str | None:
    return path.read_text() if path.exists() else None
