"""API Gateway on this machine: every HTTP API and WebSocket API of a template."""

from __future__ import annotations

import aiohttp

from localstage.core.invoker import Functions
from localstage.core.model import StageModel
from localstage.gateway.http_api import HttpApiServer
from localstage.gateway.integration import Integrations
from localstage.gateway.jwks import KeySet
from localstage.gateway.serving import Port
from localstage.gateway.websocket_api import WebSocketApiServer
from localstage.gateway.websocket_connection import Limits


class Gateway:
    """Serves the APIs of a stage, each on its own port.

    Args:
        model: what the template declares.
        functions: runs the functions.
        http_port: port of the first HTTP API, or a socket that listens; ``None`` or 0 for any.
        websocket_port: the same of the first WebSocket API.
        limits: how long WebSocket connections live; tests shorten it.
    """

    def __init__(
        self,
        model: StageModel,
        functions: Functions,
        *,
        http_port: Port | None = None,
        websocket_port: Port | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._model = model
        self._http_port = http_port or 0
        self._websocket_port = websocket_port or 0
        self._limits = limits
        self._integrations = Integrations(functions)
        self._session: aiohttp.ClientSession | None = None
        self._key_sets: dict[str, KeySet] = {}
        self._http: dict[str, HttpApiServer] = {}
        self._websocket: dict[str, WebSocketApiServer] = {}

    @property
    def http_url(self) -> str | None:
        """URL of the first HTTP API, if there is one."""
        return next((server.url for server in self._http.values()), None)

    @property
    def websocket_url(self) -> str | None:
        """URL of the first WebSocket API, if there is one."""
        return next((server.url for server in self._websocket.values()), None)

    @property
    def management_url(self) -> str | None:
        """@connections endpoint of the first WebSocket API, if there is one."""
        return next((server.management_url for server in self._websocket.values()), None)

    async def start(self) -> None:
        """Start every API.

        Raises:
            PortTaken: a port that was asked for by number is in use; nothing is left running.
            TemplateError: a route or an expression cannot be served.
        """
        try:
            self._session = aiohttp.ClientSession()
            for name, api in self._model.http_apis.items():
                port: Port = self._http_port if not self._http else 0
                self._http[name] = HttpApiServer(api, self._integrations, self._key_set, port)
                await self._http[name].start()
            for name, websocket_api in self._model.websocket_apis.items():
                port = self._websocket_port if not self._websocket else 0
                self._websocket[name] = WebSocketApiServer(websocket_api, self._integrations, port, self._limits)
                await self._websocket[name].start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Close connections (with $disconnect, in bounded time) and stop listening."""
        for websocket in self._websocket.values():
            await websocket.stop()
        for http in self._http.values():
            await http.stop()
        self._websocket.clear()
        self._http.clear()
        await self._integrations.finish(0.5)
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _key_set(self, issuer: str) -> KeySet:
        if issuer not in self._key_sets:
            assert self._session is not None  # noqa: S101 - APIs exist only between start and stop
            self._key_sets[issuer] = KeySet(issuer, self._session)
        return self._key_sets[issuer]
