"""A small HTTP server on aiohttp's lowest level, without router, middleware and access log."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import json
import logging
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

from aiohttp import web
from aiohttp.http_websocket import WebSocketReader

from localstage.core.errors import PortTaken, StageError
from localstage.core.own_machine import refusal
from localstage.gateway.frames import FrameGuard

log = logging.getLogger("localstage.gateway")

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

PARSER_LIMIT = 32 * 1024
"""The longest header line that is read. API Gateway's limits are smaller, and each has its own response."""

FILE_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
"""Content types by suffix."""
LINKED = "The local stage refuses links from other pages. Type the address, or open one that `make status` prints."


class Protocol(web.RequestHandler):
    """One client's connection. ``guard_frames`` puts API Gateway's frame limits before aiohttp's parser."""

    guard_frames = False

    def set_parser(self, parser: WebSocketReader, data_received_cb: Callable[[], None] | None = None) -> None:
        """Take the WebSocket parser after an upgrade, behind a guard if one is wanted."""
        guarded = cast(WebSocketReader, FrameGuard(parser)) if self.guard_frames else parser
        super().set_parser(guarded, data_received_cb)

    @property
    def frame_guard(self) -> FrameGuard:
        """The guard of this connection, once it is a WebSocket."""
        return cast(FrameGuard, self._payload_parser)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - aiohttp passes it
    ) -> web.StreamResponse:
        """Respond to invalid HTTP and to internal errors in API Gateway's form, without a traceback."""
        if isinstance(exc, ConnectionError):
            log.debug("a client disconnected: %r", exc)
        elif status >= 500:
            log.error("the gateway failed on a request: %r", exc)
            log.debug("details", exc_info=exc)
        if request.writer.output_size > 0:
            raise ConnectionError("the response had already begun")
        text = "Internal Server Error" if status >= 500 else "Bad Request"
        response = message_response(status, text)
        response.force_close()
        return response


class _Server(web.Server):
    def __init__(self, handler: Handler, max_body: int) -> None:
        loop = asyncio.get_running_loop()
        super().__init__(handler, loop=loop)
        self._event_loop = loop
        self._max_body = max_body
        self.request_factory = self._request

    def __call__(self) -> Protocol:
        return Protocol(
            self,
            loop=self._event_loop,
            access_log=cast(logging.Logger, None),
            max_line_size=PARSER_LIMIT,
            max_field_size=PARSER_LIMIT,
            auto_decompress=False,  # API Gateway passes a compressed body on unchanged
            keepalive_timeout=350.0,
        )

    def _request(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        return web.BaseRequest(
            message, payload, protocol, writer, task, self._event_loop, client_max_size=self._max_body + 1
        )


Port = int | socket.socket
HOST = "127.0.0.1"
BACKLOG = 1024


class TcpListener:
    """Serves one handler on one port of loopback: a number, 0 for any, or a socket that listens."""

    def __init__(self, handler: Handler, port: Port = 0, *, max_body: int = 1024 * 1024) -> None:
        self._handler = handler
        self._wanted = port
        self._max_body = max_body
        self._server: _Server | None = None
        self._listening: asyncio.Server | None = None
        self.port = port if isinstance(port, int) else int(port.getsockname()[1])

    @property
    def address(self) -> str:
        """Host and port as a client on this machine writes them."""
        return f"{HOST}:{self.port}"

    async def start(self) -> None:
        """Listen.

        Raises:
            PortTaken: the port that was asked for by number is in use.
        """
        self._server = _Server(self._handler, self._max_body)
        listening = listen(self._wanted) if isinstance(self._wanted, int) else self._wanted
        self._listening = await asyncio.get_running_loop().create_server(self._server, sock=listening, backlog=BACKLOG)
        self.port = int(self._listening.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Accept no more connections; open ones stay until :meth:`stop`."""
        if self._listening is not None:
            self._listening.close()

    async def stop(self, grace: float = 1.0) -> None:
        """Stop listening, give running requests ``grace`` seconds, and close every connection."""
        await self.close()
        if self._server is not None:
            self._server.pre_shutdown()
            await self._server.shutdown(grace)
        self._listening = self._server = None


def listen(port: int) -> socket.socket:
    """Return a socket that listens on loopback; clients wait in its backlog until a server accepts them.

    Raises:
        PortTaken: the port that was asked for by number is in use.
    """
    try:
        return socket.create_server((HOST, port), backlog=BACKLOG)
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise PortTaken(f"Port {port} on {HOST} is in use; choose another one.") from None
        raise


def json_response(status: int, value: Any, headers: dict[str, str] | None = None) -> web.Response:
    """Return a JSON response; a dataclass is an object."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dataclasses.asdict).encode()
    return web.Response(status=status, body=body, headers={"Content-Type": "application/json", **(headers or {})})


def message_response(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    """Return an error as API Gateway words it: ``{"message": "…"}``."""
    return json_response(status, {"message": message}, headers)


def file_response(path: Path) -> web.FileResponse:
    """Return a file of :data:`FILE_TYPES`."""
    content_type = f"{FILE_TYPES[path.suffix]}; charset=utf-8"
    return web.FileResponse(path, headers={"Content-Type": content_type, "Cache-Control": "no-cache"})


async def made_file_response(folder: Awaitable[Path], name: str, request: web.BaseRequest) -> web.StreamResponse:
    """Return a file of a folder that is installed or built first; 503 with the reason if that fails."""
    try:
        return file_response(await folder / name)
    except StageError as error:
        log.warning("503 for %s: %s", request.path, error)
        return message_response(503, str(error))


def foreign_response(request: web.BaseRequest) -> web.Response | None:
    """Return a 403 for a request of a page of another origin (:mod:`localstage.core.own_machine`), else ``None``.

    A person who followed a link gets a sentence, and a program gets JSON.
    """
    get = request.headers.get
    reason = refusal(get("Host"), get("Origin"), get("Sec-Fetch-Site"))
    if reason and get("Sec-Fetch-Mode") == "navigate":
        return web.Response(status=403, text=LINKED)
    return message_response(403, reason) if reason else None


async def answer_expect(request: web.BaseRequest) -> None:
    """Send ``100 Continue`` if the client waits for it before it sends its body."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # aiohttp regards any output as the response and would then refuse to send one.
        request.writer.output_size = 0
