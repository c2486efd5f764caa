"""A WebSocket API: handshakes with authorizer and $connect, connections, $disconnect, and @connections."""

from __future__ import annotations

import asyncio
import logging
from typing import cast
from urllib.parse import unquote

from aiohttp import web

from localstage.core.model import WebSocketApi
from localstage.core.reporter import Reporter
from localstage.gateway.answers import MalformedAnswer, ProxyAnswer
from localstage.gateway.aws_ids import ApiFacts, api_id, new_id
from localstage.gateway.integration import IntegrationError, Integrations, IntegrationTimeout
from localstage.gateway.management import Management
from localstage.gateway.serving import Port, TcpListener, foreign_response, json_response, message_response
from localstage.gateway.throttle import bucket
from localstage.gateway.websocket_authorizer import HandshakeRefused, authorize
from localstage.gateway.websocket_connection import REASONS, Connection, Limits, without_subprotocols
from localstage.gateway.websocket_events import ConnectionEvents, Handshake
from localstage.gateway.websocket_routing import CONNECT, DISCONNECT, MessageRoutes

log = logging.getLogger("localstage.gateway.websocket")

STOP_SECONDS = 3.0
MAX_URL = 4096


class WebSocketApiServer:
    """Serves one WebSocket API, and its @connections, on its own port.

    Args:
        api: the API as the template declares it.
        integrations: runs the functions.
        port: port to listen on, 0 for any, or a socket that listens.
        limits: how long connections live; tests shorten it.
    """

    def __init__(self, api: WebSocketApi, integrations: Integrations, port: Port, limits: Limits | None = None) -> None:
        self._api = api
        self._integrations = integrations
        self._limits = limits or Limits()
        self._connections: dict[str, Connection] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._listener = TcpListener(self._handle, port, max_body=256 * 1024)
        self._management = Management(self._connections)
        self._routes = MessageRoutes(api)
        self._reporter = Reporter(log)
        self._bucket = bucket(api.throttle)
        connect = api.routes.get(CONNECT)
        self._connect_bucket = bucket(connect.throttle if connect else None) or self._bucket

    @property
    def url(self) -> str:
        """Where clients connect: ``ws://host:port/stage``."""
        return f"ws://{self._listener.address}/{self._api.stage}"

    @property
    def management_url(self) -> str:
        """Endpoint for an ``apigatewaymanagementapi`` client."""
        return f"http://{self._listener.address}/{self._api.stage}"

    async def start(self) -> None:
        """Listen.

        Raises:
            PortTaken: the port that was asked for by number is in use.
        """
        await self._listener.start()

    async def stop(self) -> None:
        """Close every connection with 1001 and run $disconnect for each, in at most three seconds."""
        self._stopping = True
        await self._listener.close()
        for connection in self._connections.values():
            connection.close(1001)
        if self._serving:
            _, late = await asyncio.wait(self._serving, timeout=STOP_SECONDS)
            for task in late:
                task.cancel()
        await self._listener.stop(grace=0.2)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = unquote(request.raw_path.partition("?")[0])
        stage = f"/{self._api.stage}"
        if path.startswith(f"{stage}/@connections/"):
            if (refused := foreign_response(request)) is not None:
                return refused
            return await self._management.handle(request, path.removeprefix(f"{stage}/@connections/"))
        if path.rstrip("/") != stage:
            self._reporter.warn("path", f"403 for {request.method} {path[:100]}: the address is {self.url}")
            return message_response(403, "Forbidden")
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return message_response(426, "Upgrade Required", {"Upgrade": "websocket"})
        if len(request.raw_path) > MAX_URL:
            return message_response(414, "URI Too Long")
        return await self._connect(request)

    async def _connect(self, request: web.BaseRequest) -> web.StreamResponse:
        bare = without_subprotocols(request)
        if not web.WebSocketResponse().can_prepare(bare):
            return message_response(400, "Bad Request")
        connection_id, request_id = new_id(), new_id()
        facts = ApiFacts(api_id(self._api.id), self._listener.address, self._listener.port, self._api.stage)
        handshake = Handshake.of(request, facts)
        events = ConnectionEvents(facts, handshake, connection_id)
        try:
            subprotocol = await self._admit(handshake, events, request_id)
        except HandshakeRefused as refused:
            body = {"message": str(refused), "connectionId": connection_id, "requestId": request_id}
            headers = {"x-amzn-ErrorType": refused.error_type} if refused.error_type else {}
            about, reason = f"{refused.status} for a WebSocket handshake", refused.reason
            self._reporter.warn(about, lambda: f"{about}: {reason if isinstance(reason, str) else reason()}")
            return json_response(refused.status, body, headers)
        connection = Connection(
            connection_id, handshake, events, self._integrations, self._routes, self._bucket, self._limits
        )
        await self._serve(connection, bare, subprotocol)
        return connection.response

    async def _admit(self, handshake: Handshake, events: ConnectionEvents, request_id: str) -> str | None:
        """Run the authorizer and $connect; returns the subprotocol that the function chose, if any.

        Raises:
            HandshakeRefused: the connection is not made.
        """
        if self._stopping:
            raise HandshakeRefused(503, "Service Unavailable")
        if self._connect_bucket is not None and not self._connect_bucket.take():
            raise HandshakeRefused(429, "Too Many Requests", "LimitExceededException")
        if self._api.authorizer is not None:
            context = await authorize(self._api.authorizer, self._integrations, handshake, events, request_id)
            events.authorized_as(context)
        route = self._api.routes.get(CONNECT)
        if route is None:
            return None
        try:
            payload = await self._integrations.call(route.function_id, events.connect(request_id), route.timeout)
            answer = ProxyAnswer.parse(payload)
        except IntegrationTimeout:
            raise HandshakeRefused(504, "Endpoint request timed out") from None
        except IntegrationError:
            raise HandshakeRefused(502, "Internal server error", "InternalServerErrorException") from None
        except MalformedAnswer as error:
            self._integrations.report_malformed(route.function_id, str(error))
            raise HandshakeRefused(502, "Internal server error", "InternalServerErrorException") from None
        if not 200 <= answer.status <= 299:
            raise HandshakeRefused(answer.status, answer.body.decode() or "Forbidden")
        return answer.header("Sec-WebSocket-Protocol")

    async def _serve(self, connection: Connection, request: web.BaseRequest, subprotocol: str | None) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._serving.add(task)
        code, reason = 1006, REASONS[1006]
        try:
            await connection.accept(request, subprotocol)
            self._connections[connection.id] = connection
            code, reason = await connection.run()
        finally:
            self._connections.pop(connection.id, None)
            await self._run_disconnect(connection, code, reason)
            self._serving.discard(task)

    async def _run_disconnect(self, connection: Connection, code: int, reason: str) -> None:
        """Run $disconnect: best effort, because no client is left to receive an error."""
        route = self._api.routes.get(DISCONNECT)
        if route is None:
            return
        event = connection.events.disconnect(new_id(), code, reason)
        try:
            await self._integrations.call(route.function_id, event, route.timeout)
        except IntegrationError:
            log.debug("$disconnect failed for one connection")
