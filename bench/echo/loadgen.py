"""Load generators that use little CPU, because they share the cores with the code that they measure."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

import aiohttp


@dataclass
class Load:
    """The result of one run: ``latencies`` in seconds, one per answered request."""

    seconds: float = 0.0
    errors: int = 0
    latencies: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds if self.seconds else 0.0

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class _HttpConnection(asyncio.Protocol):
    """Repeats one prepared request over one connection; reads only status and Content-Length."""

    def __init__(self, request: bytes, load: Load, until: float) -> None:
        self._request, self._load, self._until = request, load, until
        self._buffer = bytearray()
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._sent = time.perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end]).lower()
        at = head.find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if len(self._buffer) < end + 4 + length:
            return
        now = time.perf_counter()
        if self._buffer[9:10] == b"2":
            self._load.latencies.append(now - self._sent)
        else:
            self._load.errors += 1
        self._buffer.clear()
        if now < self._until and b"connection: close" not in head:
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def http_load(url: str, *, connections: int, seconds: float) -> Load:
    """Keep ``connections`` requests outstanding for ``seconds``; returns the result.

    A connection that the server closes is opened again. A request without an answer 30 s after the end is an error.
    """
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    request = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
    load, start = Load(), time.perf_counter()
    until = start + seconds
    loop = asyncio.get_running_loop()

    async def one() -> None:
        while time.perf_counter() < until:
            make = partial(_HttpConnection, request, load, until)
            transport, protocol = await loop.create_connection(make, parts.hostname or "127.0.0.1", parts.port or 80)
            try:
                await asyncio.wait_for(protocol.done, until + 30 - time.perf_counter())
            except TimeoutError:
                load.errors += 1
                transport.close()

    await asyncio.gather(*(one() for _ in range(connections)))
    load.seconds = time.perf_counter() - start
    return load


async def websocket_load(url: str, frame: str, *, connections: int, seconds: float) -> Load:
    """Keep one frame outstanding on each of ``connections``; each answer is awaited (two-way)."""
    load, start = Load(), time.perf_counter()

    async def one(session: aiohttp.ClientSession) -> None:
        async with session.ws_connect(url, compress=0, heartbeat=None) as socket:
            while time.perf_counter() < start + seconds:
                sent = time.perf_counter()
                await socket.send_str(frame)
                answer = await socket.receive()
                if answer.type is aiohttp.WSMsgType.TEXT:
                    load.latencies.append(time.perf_counter() - sent)
                else:
                    load.errors += 1
                    return

    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(one(session) for _ in range(connections)))
    load.seconds = time.perf_counter() - start
    return load
