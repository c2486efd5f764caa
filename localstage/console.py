"""The console: ``/`` in a browser, its files, and what only a page of the local stage can ask for.

The files of ``console/`` are served as they are, compressed. ``/console/config.json`` names the APIs. With the stage's
secret, ``/console/token`` gives tokens, ``/console/counts`` sums the metrics in the logs of the functions, and
``/console/audit`` lists what operators did, from the same logs.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from pathlib import Path
from typing import Any

from aiohttp import web

from localstage.client.function_logs import Metric, NewLines, audited, metrics
from localstage.gateway.issuer import Issuer
from localstage.gateway.serving import FILE_TYPES, file_response, json_response, made_file_response
from localstage.services.install import ensure_node_packages

COUNTED = ("Accepted", "Stored", "Dead", "Redriven", "HandedOver", "LivePushed")
"""Metrics that are summed, by their dimensions."""

ACTIONS = 200
"""How many actions of operators are listed."""

_LIBRARY = "htm.js"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; require-trusted-types-for 'script'; connect-src 'self'"
)


class Counts:
    """Sums of the functions' metrics since it was made. ``logs`` is the folder of the logs."""

    def __init__(self, logs: Path) -> None:
        self._new = NewLines(logs)
        self._sums: defaultdict[tuple[str, str, str], float] = defaultdict(float)
        self._waited = 0.0

    def take(self) -> dict[str, Any]:
        """``sums``: rows of name, stream, lane and sum; ``waitSeconds``: the longest wait since the last call."""
        self._waited = 0.0
        for _, text in self._new.lines():
            for metric in metrics(text):
                self._add(metric)
        sums = [[*key, value] for key, value in sorted(self._sums.items())]
        return {"sums": sums, "waitSeconds": self._waited}

    def _add(self, metric: Metric) -> None:
        if metric.name == "WaitSeconds":
            self._waited = max(self._waited, *metric.values)
        elif metric.name in COUNTED:
            dimensions = dict(metric.dimensions)
            key = (metric.name, dimensions.get("stream", ""), dimensions.get("lane", dimensions.get("verdict", "")))
            self._sums[key] += sum(metric.values)


class ConsolePages:
    """Answers requests for the console.

    Args:
        template: the template; ``console`` beside it has the files, and without it answers are 404.
        state_dir: the stage's folder, with the logs; what the console takes from npm is installed there.
        issuer: gives the tokens, and has the secret.
        http_url: the running HTTP API.
        websocket_url: the running WebSocket API.
    """

    def __init__(
        self, template: Path, state_dir: Path, issuer: Issuer, http_url: str | None, websocket_url: str | None
    ) -> None:
        self._folder = template.resolve().parent / "console"
        self._state_dir = state_dir
        self._issuer = issuer
        self._config = {"httpUrl": http_url or "", "wsUrl": websocket_url or ""}
        self._counts = Counts(state_dir / "logs")

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse | None:
        """The answer to a request for the console; ``None`` for any other."""
        if request.path == "/" and "text/html" in request.headers.get("Accept", "") and self._folder.exists():
            return self._page()
        if not request.path.startswith("/console/"):
            return None
        name = request.path.removeprefix("/console/")
        if name == "config.json":
            return json_response(200, self._config)
        if name == "token":
            return await self._issuer.answer_token(request)
        if name == "counts":
            return self._issuer.refusal(request) or json_response(200, self._counts.take())
        if name == "audit":
            return self._issuer.refusal(request) or json_response(200, {"items": await self._audited()})
        if name == _LIBRARY:
            packages = ensure_node_packages(self._state_dir, self._folder, "console", "the console's library")
            return await made_file_response(packages, "htm/preact/standalone.module.js")
        own = (path for path in self._folder.rglob("*") if path.suffix in FILE_TYPES)
        files = {path.relative_to(self._folder).as_posix(): path for path in own}
        return file_response(files[name]) if name in files else None

    async def _audited(self) -> list[dict[str, Any]]:
        # In a thread, because the logs can be large.
        return await asyncio.to_thread(audited, self._state_dir / "logs", ACTIONS)

    def _page(self) -> web.Response:
        response = web.Response(text=(self._folder / "index.html").read_text(), content_type="text/html")
        sources = " ".join(filter(None, self._config.values()))
        response.headers["Content-Security-Policy"] = f"{_POLICY} {sources}"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.enable_compression()
        return response
