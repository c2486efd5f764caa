"""API Gateway on this machine: the HTTP API and the WebSocket API of a template."""

from __future__ import annotations

from localstage.core.invoker import LoggedFunctions
from localstage.core.model import StageModel
from localstage.gateway.http_api import HttpApiServer
from localstage.gateway.integration import Integrations
from localstage.gateway.jwks import KeySet
from localstage.gateway.serving import Port
from localstage.gateway.websocket_api import WebSocketApiServer
from localstage.gateway.websocket_connection import Limits


class Gateway:
    """Serves the APIs of a stage, one of each kind, on their own ports.

    Args:
        model: what the template declares.
        functions: runs the functions.
        http_port: port of the HTTP API, or a socket that listens; ``None`` or 0 for any.
        websocket_port: the same of the WebSocket API.
        limits: how long WebSocket connections live; tests shorten it.
    """

    def __init__(
        self,
        model: StageModel,
        functions: LoggedFunctions,
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
        self._key_sets: dict[str, KeySet] = {}
        self._http: HttpApiServer | None = None
        self._websocket: WebSocketApiServer | None = None

    @property
    def http_url(self) -> str | None:
        """URL of the HTTP API, if there is one."""
        return self._http.url if self._http else None

    @property
    def websocket_url(self) -> str | None:
        """URL of the WebSocket API, if there is one."""
        return self._websocket.url if self._websocket else None

    @property
    def management_url(self) -> str | None:
        """@connections endpoint of the WebSocket API, if there is one."""
        return self._websocket.management_url if self._websocket else None

    async def start(self) -> None:
        """Start the APIs.

        Raises:
            PortTaken: a port that was asked for by number is in use; nothing is left running.
            TemplateError: a route or an expression cannot be served.
        """
        try:
            for api in self._model.http_apis.values():
                self._http = HttpApiServer(api, self._integrations, self._key_set, self._http_port)
                await self._http.start()
            for socket_api in self._model.websocket_apis.values():
                self._websocket = WebSocketApiServer(socket_api, self._integrations, self._websocket_port, self._limits)
                await self._websocket.start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Close connections (with $disconnect, in bounded time) and stop listening."""
        for server in (self._websocket, self._http):
            if server is not None:
                await server.stop()
        self._websocket = self._http = None
        await self._integrations.finish(0.5)

    def _key_set(self, issuer: str) -> KeySet:
        return self._key_sets.setdefault(issuer, KeySet(issuer))
