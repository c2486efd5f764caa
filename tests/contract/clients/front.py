"""What stands in front of a stage: it answers the first connections itself, as proxies and servers of others do."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

SWITCHED = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Protocol: headrace.v1\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
)
SLOW = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Half: "
"""Of headers that never end."""
HALF = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"items": ['
HALF_FRAME = SWITCHED + b'\x81\x7e\x01\x00{"type": "mess'


def page(status: str, header: str = "X-Served-By: front") -> bytes:
    """A page of HTML."""
    body = f"<html><h1>{status}</h1></html>"
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/html", f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join([*lines, header, "", body]).encode()


def frame(text: str) -> bytes:
    """A WebSocket that opens and gets one text."""
    return SWITCHED + bytes([0x81, len(text)]) + text.encode()


def closed(code: int) -> bytes:
    """A WebSocket that opens and is closed with a code."""
    return SWITCHED + b"\x88\x02" + code.to_bytes(2, "big")


class Front:
    """Gives each connection one of ``answers``; later ones, and what a proxy is asked for, reach the stage."""

    def __init__(self, answers: Iterable[bytes], port: int) -> None:
        self.answers = [*answers]
        self.asked: list[str] = []
        """The first line of each connection."""
        self._port = port

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until the client leaves."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.asked.append(head.partition(b"\r\n")[0].decode())
            if head.startswith(b"CONNECT ") and not self.answers:
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                head = await reader.readuntil(b"\r\n\r\n")
            await (self._answer(head, reader, writer) if self.answers else self._pass_on(head, reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has left
        finally:
            writer.close()

    async def _answer(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = self.answers.pop(0)
        key = re.search(rb"Sec-WebSocket-Key: (\S+)", head, re.I)
        proof = (key[1] if key else b"") + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        writer.write(answer.replace(b"{accept}", base64.b64encode(hashlib.sha1(proof).digest())))
        if answer != SLOW:
            writer.write_eof()
        while await reader.read(65536):
            pass

    async def _pass_on(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", self._port)
        forth.write(head)

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            try:
                while some := await source.read(65536):
                    target.write(some)
            finally:
                target.close()

        await asyncio.gather(copy(reader, forth), copy(back, writer))


@asynccontextmanager
async def in_front(answers: Iterable[bytes], stage_url: str) -> AsyncIterator[tuple[Front, str]]:
    """A front of the stage, and its address without a scheme."""
    front = Front(answers, int(stage_url.rpartition(":")[2]))
    serving = set[asyncio.Task[None]]()

    def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.create_task(front.serve(reader, writer)))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield front, f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for each in serving:
            each.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
