"""API Gateway on this machine: every HTTP API and WebSocket API of a template, and the token issuer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import aiohttp

from localstage.core.invoker import Functions
from localstage.core.model import StageModel
from localstage.gateway.http_api import HttpApiServer
from localstage.gateway.integration import Integrations
from localstage.gateway.issuer import Issuer
from localstage.gateway.jwks import KeySet
from localstage.gateway.serving import Port
from localstage.gateway.websocket_api import WebSocketApiServer
from localstage.gateway.websocket_connection import Limits


class Gateway:
    """Serves the APIs of a stage, each on its own port.

    Args:
        model: what the template declares.
        functions: runs the functions.
        state_dir: the stage's folder, for the issuer's key.
        host: address to listen on.
        http_port: port of the first HTTP API, or a socket that listens; ``None`` or 0 for any.
        websocket_port: the same of the first WebSocket API.
        issuer: an issuer that was started before, because the template's authorizers need its URL; without one
            the gateway starts its own.
        limits: how long WebSocket connections live; tests shorten it.
    """

    def __init__(
        self,
        model: StageModel,
        functions: Functions,
        *,
        state_dir: Path,
        host: str = "127.0.0.1",
        http_port: Port | None = None,
        websocket_port: Port | None = None,
        issuer: Issuer | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._model = model
        self._host = host
        self._http_port = http_port or 0
        self._websocket_port = websocket_port or 0
        self._issuer = issuer or Issuer(state_dir, host=host)
        self._owns_issuer = issuer is None
        self._limits = limits
        self._integrations = Integrations(functions)
        self._session: aiohttp.ClientSession | None = None
        self._key_sets: dict[str, KeySet] = {}
        self._http: dict[str, HttpApiServer] = {}
        self._websocket: dict[str, WebSocketApiServer] = {}

    @property
    def http_url(self) -> str | None:
        """URL of the first HTTP API, if there is one."""
        return next(iter(self.http_urls.values()), None)

    @property
    def websocket_url(self) -> str | None:
        """URL of the first WebSocket API, if there is one."""
        return next(iter(self.websocket_urls.values()), None)

    @property
    def management_url(self) -> str | None:
        """@connections endpoint of the first WebSocket API, if there is one."""
        return next(iter(self.management_urls.values()), None)

    @property
    def http_urls(self) -> Mapping[str, str]:
        """URLs of the HTTP APIs by logical id."""
        return {name: server.url for name, server in self._http.items()}

    @property
    def websocket_urls(self) -> Mapping[str, str]:
        """URLs of the WebSocket APIs by logical id."""
        return {name: server.url for name, server in self._websocket.items()}

    @property
    def management_urls(self) -> Mapping[str, str]:
        """@connections endpoints by the WebSocket API's logical id."""
        return {name: server.management_url for name, server in self._websocket.items()}

    @property
    def issuer_url(self) -> str:
        """The token issuer."""
        return self._issuer.url

    @property
    def token_url(self) -> str:
        """The URL that issues tokens."""
        return self._issuer.token_url

    async def start(self) -> None:
        """Start the issuer, unless one was given, and every API.

        Raises:
            PortTaken: a port that was asked for by number is in use; nothing is left running.
            TemplateError: a route or an expression cannot be served.
        """
        try:
            if self._owns_issuer:
                await self._issuer.start()
            self._session = aiohttp.ClientSession()
            await self.replace(self._model)
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
        if self._owns_issuer:
            await self._issuer.stop()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def replace(self, model: StageModel) -> None:
        """Serve another model: routes change in place, new APIs are started and removed ones stopped.

        Raises:
            TemplateError: a route or an expression cannot be served.
        """
        for name in self._http.keys() - model.http_apis.keys():
            await self._http.pop(name).stop()
        for name in self._websocket.keys() - model.websocket_apis.keys():
            await self._websocket.pop(name).stop()
        for name, api in model.http_apis.items():
            if name in self._http:
                self._http[name].replace(api)
            else:
                port: Port = self._http_port if not self._http else 0
                server = HttpApiServer(api, self._integrations, self._key_set, self._host, port)
                await server.start()
                self._http[name] = server
        for name, websocket_api in model.websocket_apis.items():
            if name in self._websocket:
                self._websocket[name].replace(websocket_api)
            else:
                port = self._websocket_port if not self._websocket else 0
                sockets = WebSocketApiServer(websocket_api, self._integrations, self._host, port, self._limits)
                await sockets.start()
                self._websocket[name] = sockets
        self._model = model

    def _key_set(self, issuer: str) -> KeySet:
        if issuer not in self._key_sets:
            assert self._session is not None  # noqa: S101 - APIs exist only between start and stop
            self._key_sets[issuer] = KeySet(issuer, self._session)
        return self._key_sets[issuer]
