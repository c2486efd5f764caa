"""An HTTP proxy in front of DynamoDB, SQS or @connections that can change, answer or cut calls."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp
from aiohttp import web
from yarl import URL

_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host"})
_LONGEST = 64 * 1024 * 1024


class Down(Exception):
    """Raised by a fault: cut the caller's connection without an answer."""


@dataclass(frozen=True)
class Call:
    """One call: ``action`` is AWS's, such as ``BatchWriteItem``, or the path; ``peer`` is the caller's address."""

    action: str
    body: bytes
    peer: tuple[str, int]


Forward = Callable[[bytes], Awaitable[web.Response]]
Fault = Callable[[Call, Forward], Awaitable[web.Response]]
"""What happens to a call: forward it (perhaps with another body), answer it, or raise :class:`Down`."""


def answer(body: object, status: int = 200) -> web.Response:
    """An answer in the form of DynamoDB. Without a request id, functions take it for that of a proxy on the way."""
    return web.Response(
        status=status,
        body=json.dumps(body).encode(),
        headers={"x-amzn-RequestId": uuid.uuid4().hex},
        content_type="application/x-amz-json-1.0",
    )


Observer = Callable[[str, bytes, web.Response], None]
"""Gets the action and the body of a call as it was forwarded, and the answer."""


class HttpProxy:
    """Listens on ``port`` and hands every call to ``fault``, or forwards it while there is none.

    ``observe`` sees each call that was forwarded, with its answer. Belongs to one event loop.
    """

    def __init__(self, upstream: Callable[[], str], observe: Observer) -> None:
        self._upstream = upstream
        self._observe = observe
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.ServerRunner | None = None
        self._open: set[asyncio.Transport] = set()
        self.fault: Fault | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """The URL that the stage uses."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen on a free port of the loopback interface."""
        # Without a limit: a long poll lasts 20 s, and callers have their own timeouts.
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
        connector = aiohttp.TCPConnector(limit=0)
        self._session = aiohttp.ClientSession(auto_decompress=False, timeout=timeout, connector=connector)
        # A caller may be killed or give up: its call is cancelled.
        server = web.Server(self._answer, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening and cut every connection."""
        self.cut()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    def cut(self) -> None:
        """Cut the connections of all calls under way."""
        for transport in list(self._open):
            transport.abort()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        if transport is None:
            return web.Response(status=502)
        host, port = transport.get_extra_info("peername")
        self._open.add(transport)
        try:
            body = await request.content.read(_LONGEST)
            while more := await request.content.read(_LONGEST):
                body += more
            action = request.headers.get("X-Amz-Target", request.path).rpartition(".")[2]

            async def forward(sent: bytes) -> web.Response:
                answer = await self._forward(request, sent)
                self._observe(action, sent, answer)
                return answer

            return await (self.fault(Call(action, body, (host, port)), forward) if self.fault else forward(body))
        except (TimeoutError, Down, aiohttp.ClientError, OSError):
            transport.abort()
            return web.Response(status=502)
        finally:
            self._open.discard(transport)

    async def _forward(self, request: web.BaseRequest, body: bytes) -> web.Response:
        if self._session is None:
            raise Down
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
        url = URL(self._upstream() + request.raw_path, encoded=True)
        async with self._session.request(request.method, url, headers=headers, data=body) as answer:
            content = await answer.read()
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP}
            return web.Response(status=answer.status, headers=kept, body=content)
