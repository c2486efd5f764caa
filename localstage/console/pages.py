"""The console: ``/`` in a browser, its files, and what only a page of the local stage can ask for.

The files of ``console/`` are served as they are. ``/console/config.json`` names the HTTP API. With the
stage's secret, ``/console/token`` gives tokens, ``/console/counts`` and ``/console/trace`` read the logs of the
functions, ``/console/audit`` lists from them what operators did, and ``/console/poison`` makes a record that can never
be stored.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
from aiohttp import web

from headrace_client.cli.trace import trace
from localstage.client.function_logs import audited
from localstage.console.counts import Counts
from localstage.console.poison import send_poison
from localstage.gateway.issuer import Issuer
from localstage.gateway.serving import FILE_TYPES, file_response, json_response, made_file_response, message_response
from localstage.services.endpoints import Endpoints
from localstage.services.install import ensure_node_packages

ACTIONS = 200
"""How many actions of operators are listed."""

_LIBRARY = "htm.js"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; require-trusted-types-for 'script'"
)


def policy(*apis: str) -> str:
    """What the pages may load: from themselves and from ``apis``."""
    return f"{_POLICY}; connect-src 'self' {' '.join(apis)}"


class ConsolePages:
    """Answers requests for the console.

    Args:
        template: the template; ``console`` beside it has the files, and without it answers are 404.
        state_dir: the stage's folder, with the logs; what the console takes from npm is installed there.
        issuer: gives the tokens, and has the secret.
        endpoints: the broker, to which poison is sent.
        http_url: the running HTTP API.
    """

    def __init__(
        self,
        template: Path,
        state_dir: Path,
        issuer: Issuer,
        endpoints: Endpoints,
        http_url: str | None,
    ) -> None:
        self._folder = template.resolve().parent / "console"
        self._state_dir = state_dir
        self._issuer = issuer
        self._endpoints = endpoints
        self._http_url = http_url or ""
        self._counts = Counts(state_dir / "logs")

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse | None:
        """The answer to a request for the console; ``None`` for any other."""
        if request.path == "/" and "text/html" in request.headers.get("Accept", "") and self._folder.exists():
            return self._page()
        if not request.path.startswith("/console/"):
            return None
        name = request.path.removeprefix("/console/")
        if name == "config.json":
            return json_response(200, {"httpUrl": self._http_url})
        if name == "token":
            return await self._issuer.answer_token(request)
        if name in ("counts", "trace", "audit", "poison"):
            return self._issuer.refusal(request) or await self._answer_local(name, request)
        if name == _LIBRARY:
            packages = ensure_node_packages(self._state_dir, self._folder, "console", "the console's library")
            return await made_file_response(packages, "htm/preact/standalone.module.js", request)
        path = (self._folder / name).resolve()
        is_own = path.is_relative_to(self._folder) and path.suffix in FILE_TYPES and path.is_file()
        return file_response(path) if is_own else None

    async def _answer_local(self, name: str, request: web.BaseRequest) -> web.StreamResponse:
        if name == "counts":
            return json_response(200, self._counts.take())
        if name == "trace":
            steps = await asyncio.to_thread(trace, self._state_dir / "logs", request.query.get("id", ""))
            rows = [{"at": step.at.timestamp() * 1000, "function": step.function, "text": step.text} for step in steps]
            return json_response(200, {"steps": rows})
        if name == "audit":
            return json_response(200, {"items": await asyncio.to_thread(audited, self._state_dir / "logs", ACTIONS)})
        if request.method != "POST":
            return message_response(405, "Method Not Allowed")
        try:
            return json_response(200, {"text": await send_poison(self._endpoints)})
        except (aiohttp.ClientError, TimeoutError) as error:
            return message_response(503, f"RabbitMQ does not take it: {error}")

    def _page(self) -> web.Response:
        response = web.Response(text=(self._folder / "index.html").read_text(), content_type="text/html")
        response.headers["Content-Security-Policy"] = policy(self._http_url)
        response.headers["Referrer-Policy"] = "no-referrer"
        return response
