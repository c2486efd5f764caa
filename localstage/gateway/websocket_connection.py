"""One client's WebSocket connection: reads frames, runs their routes, writes answers, enforces the time limits."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from aiohttp import WebSocketError, WSMsgType, web

from localstage.gateway.answers import MalformedAnswer, ProxyAnswer
from localstage.gateway.aws_ids import new_id
from localstage.gateway.frames import MAX_MESSAGE
from localstage.gateway.http_event import encode
from localstage.gateway.integration import IntegrationError, Integrations
from localstage.gateway.serving import Protocol
from localstage.gateway.throttle import TokenBucket
from localstage.gateway.websocket_events import ConnectionEvents, Handshake
from localstage.gateway.websocket_routing import MessageRoute, MessageRoutes

log = logging.getLogger("localstage.gateway")

CLOSE_TIMEOUT = 1.0
SEND_BUFFER = 64 * 1024
"""Bytes that may wait for a slow client, beyond the kernel's buffer, before a push to it is refused."""
KERNEL_BUFFER = 128 * 1024
"""Size of the kernel's buffer for a client; without a limit the kernel holds megabytes for one that does not read."""

REASONS = {
    1000: "Connection Closed Normally",
    1001: "Going away",
    1002: "Protocol error",
    1003: "Unsupported data",
    1005: "Client-side close frame status not set",
    1006: "Connection closed abnormally",
    1007: "Invalid frame payload data",
    1009: "Message too big",
}


@dataclass(frozen=True)
class Limits:
    """API Gateway's limits on a connection: seconds without traffic, seconds in all, messages in work at once."""

    idle: float = 600.0
    total: float = 7200.0
    in_flight: int = 32


def without_subprotocols(request: web.BaseRequest) -> web.BaseRequest:
    """Return the request without the subprotocols that the client offers.

    aiohttp would choose one and log the others: a client's token is among them.
    """
    kept = {name: value for name, value in request.headers.items() if name.lower() != "sec-websocket-protocol"}
    return request.clone(headers=kept)


class BufferFull(Exception):
    """The client reads too slowly: its buffer is full."""


class Connection:
    """An open connection. ``run`` returns when it is closed, with the code and the reason."""

    def __init__(
        self,
        connection_id: str,
        handshake: Handshake,
        events: ConnectionEvents,
        integrations: Integrations,
        routes: MessageRoutes,
        bucket: TokenBucket | None,
        limits: Limits,
    ) -> None:
        self.id = connection_id
        self.handshake = handshake
        self.events = events
        self._integrations = integrations
        self._routes = routes
        self._bucket = bucket
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.in_flight)
        self._work: set[asyncio.Task[None]] = set()
        self._reader: asyncio.Task[None] | None = None
        self._closing: tuple[int, str] | None = None
        self._closed_by_client = (1006, REASONS[1006])
        self._timers: list[asyncio.TimerHandle] = []
        self._active = time.monotonic()
        # permessage-deflate is off because AWS documents no such extension of API Gateway. The guard in front of the
        # parser keeps the size limits; aiohttp's own is only a backstop.
        self._socket = web.WebSocketResponse(
            compress=False, autoping=False, autoclose=True, timeout=CLOSE_TIMEOUT, max_msg_size=2 * MAX_MESSAGE
        )
        self._protocol: Protocol | None = None

    @property
    def response(self) -> web.WebSocketResponse:
        """What aiohttp's handler has to return for this connection."""
        return self._socket

    async def accept(self, handshake: web.BaseRequest, subprotocol: str | None) -> None:
        """Complete the handshake; ``subprotocol`` is what the $connect function chose, if it chose one.

        Args:
            handshake: the request as :func:`without_subprotocols` returns it.

        Raises:
            ConnectionError: the client has disconnected.
        """
        if subprotocol is not None:
            self._socket.headers["Sec-WebSocket-Protocol"] = subprotocol
        self._protocol = cast(Protocol, handshake.protocol)
        self._protocol.guard_frames = True
        await self._socket.prepare(handshake)
        if (transport := self._protocol.transport) is not None:
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, KERNEL_BUFFER)
            # Writing pauses only beyond what a push may add, and until pushes are accepted: a push never waits.
            transport.set_write_buffer_limits(high=SEND_BUFFER + 2 * MAX_MESSAGE, low=SEND_BUFFER)
        self._touch()

    async def run(self) -> tuple[int, str]:
        """Serve messages until the connection is closed; returns the close code and reason."""
        loop = asyncio.get_running_loop()
        task = self._reader = cast("asyncio.Task[None]", asyncio.current_task())
        self._timers = [loop.call_later(self._limits.total, self.close, 1001)]
        self._watch_idle(loop)
        try:
            while await self._receive():
                pass
        except asyncio.CancelledError:
            if self._closing is None:
                raise
            task.uncancel()
        finally:
            self._reader = None
            for timer in self._timers:
                timer.cancel()
        if self._closing is not None:
            code, reason = self._closing
            await self._socket.close(code=code, message=reason.encode())
        return self._closing or self._closed_by_client

    def close(self, code: int) -> None:
        """Close the connection from this side.

        The reading task does the closing handshake. It may be waiting for a message or for a free slot, so it is
        cancelled after the reason is stored.
        """
        if self._reader is not None and self._closing is None:
            self._closing = (code, REASONS[code])
            self._reader.cancel()

    @property
    def open(self) -> bool:
        """Whether messages can still be sent and received."""
        return self._reader is not None and self._closing is None

    def description(self) -> dict[str, Any]:
        """The connection as the management API shows it. Its last activity is a frame in either direction."""
        now = datetime.now(UTC)
        return {
            "connectedAt": datetime.fromtimestamp(self.events.connected_at / 1000, UTC).isoformat(),
            "identity": {"sourceIp": self.handshake.source_ip, "userAgent": self.handshake.user_agent or ""},
            "lastActiveAt": (now - timedelta(seconds=time.monotonic() - self._active)).isoformat(),
        }

    async def push(self, data: bytes) -> None:
        """Send a text frame from outside of any message.

        Raises:
            BufferFull: too many bytes wait for this client already.
            ConnectionError: the connection is closed.
        """
        transport = None if self._protocol is None else self._protocol.transport
        if transport is None or not self.open:
            raise ConnectionResetError("closed")
        if transport.get_write_buffer_size() > SEND_BUFFER:
            raise BufferFull
        self._touch()
        await self._socket.send_frame(data, WSMsgType.TEXT)

    async def _receive(self) -> bool:
        """Receive one message; ``False`` at the end. Its slot is released when it is answered."""
        await self._slots.acquire()
        message = await self._socket.receive()
        self._touch()
        kind = message.type
        if kind is WSMsgType.TEXT:
            task = asyncio.get_running_loop().create_task(self._serve(cast(str, message.data)))
            self._work.add(task)
            task.add_done_callback(self._served)
            return True
        self._slots.release()
        if kind is WSMsgType.PING:
            if self._protocol is not None and (code := self._protocol.frame_guard.close_code):
                self._closing = (code, REASONS[code])
                return False
            await self._socket.pong(message.data)
            return True
        if kind is WSMsgType.PONG:
            return True
        if kind is WSMsgType.BINARY:
            self._closing = (1003, REASONS[1003])
        elif kind is WSMsgType.CLOSE:
            code = int(message.data) or 1005
            self._closed_by_client = (code, str(message.extra or "") or REASONS.get(code, ""))
        elif isinstance(message.data, WebSocketError):
            code = int(message.data.code)
            self._closed_by_client = (code, REASONS.get(code, "Protocol error"))
        return False

    def _served(self, task: asyncio.Task[None]) -> None:
        self._work.discard(task)
        self._slots.release()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the gateway failed on a message: %r", error)

    async def _serve(self, text: str) -> None:
        request_id = new_id()
        route = self._routes.select(text)
        bucket = (route and route.bucket) or self._bucket
        if bucket is not None and not bucket.take():
            await self._send_error("Too Many Requests", request_id)
        elif route is None:
            await self._send_error("Forbidden", request_id)
        else:
            await self._run_route(route, text, request_id)

    async def _run_route(self, target: MessageRoute, text: str, request_id: str) -> None:
        route = target.route
        event = self.events.message(target.key_json, text, request_id)
        try:
            payload = await self._integrations.call(route.function_id, event, route.timeout)
            answer = ProxyAnswer.parse(payload)
            if len(answer.body) > MAX_MESSAGE:
                raise MalformedAnswer(f"body is over {MAX_MESSAGE} bytes, the largest message")
        except IntegrationError:
            await self._send_error("Internal server error", request_id)
        except MalformedAnswer as error:
            self._integrations.report_malformed(route.function_id, str(error))
            await self._send_error("Internal server error", request_id)
        else:
            if route.two_way and answer.body:
                await self._send(answer.body)

    async def _send_error(self, message: str, request_id: str) -> None:
        await self._send(encode({"message": message, "connectionId": self.id, "requestId": request_id}).encode())

    async def _send(self, text: bytes) -> None:
        self._touch()
        with suppress(ConnectionError):  # the client left before its answer; $disconnect runs
            await self._socket.send_frame(text, WSMsgType.TEXT)

    def _touch(self) -> None:
        self._active = time.monotonic()

    def _watch_idle(self, loop: asyncio.AbstractEventLoop) -> None:
        left = self._active + self._limits.idle - time.monotonic()
        if left <= 0:
            self.close(1001)
        else:
            self._timers[1:] = [loop.call_later(left, self._watch_idle, loop)]
