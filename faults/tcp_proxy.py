"""A TCP proxy between the stage and one of its services: a network that can refuse, stall, delay and cut."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

CHUNK = 65536
BASIC_ACK = b"\x00\x3c\x00\x50"
"""Class and method of AMQP's basic.ack: what a broker sends to a publisher as its confirm."""

Address = tuple[str, int]


class TcpProxy:
    """Listens on ``port`` and relays to where ``upstream`` says at each connection. Belongs to one event loop.

    ``delay`` is in seconds per chunk. ``lost_confirms`` counts down: so many chunks with a broker's confirm are
    swallowed, and their connection is cut: the broker has the message, and its publisher does not know.
    """

    def __init__(self, upstream: Callable[[], Address]) -> None:
        self._upstream = upstream
        self._server: asyncio.Server | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._peers: set[int] = set()
        self.port = 0
        self.refusing = False
        self.delay = 0.0
        self.lost_confirms = 0

    async def start(self) -> None:
        """Listen on a free port of the loopback interface."""
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and cut every connection."""
        if self._server is not None:
            self._server.close()
        self._flowing.set()
        self.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def peers(self) -> frozenset[int]:
        """The callers' ports of all connections that there are."""
        return frozenset(self._peers)

    def stall(self) -> None:
        """Let nothing through any more, in either direction, without a word: a black hole."""
        self._flowing.clear()

    def flow(self) -> None:
        """Let through what waits and all that comes, as TCP does when a network is back."""
        self._flowing.set()
        self.refusing, self.delay, self.lost_confirms = False, 0.0, 0

    def cut(self) -> None:
        """Reset every connection that there is; new ones pass."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        port = writer.get_extra_info("peername")[1]
        self._peers.add(port)
        try:
            await self._pass(reader, writer)
        except OSError:
            pass
        finally:
            self._peers.discard(port)
            self._writers.discard(writer)
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._flowing.wait()
        if self.refusing:
            return
        there, back = await asyncio.open_connection(*self._upstream())
        self._writers.add(back)
        try:
            pumps = (
                asyncio.create_task(self._pump(reader, back, answers=False)),
                asyncio.create_task(self._pump(there, writer, answers=True)),
            )
            try:
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
        finally:
            self._writers.discard(back)
            back.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(CHUNK):
                await self._flowing.wait()
                if self.delay:
                    await asyncio.sleep(self.delay)
                if answers and self.lost_confirms and BASIC_ACK in data:
                    self.lost_confirms -= 1
                    return
                sink.write(data)
                await sink.drain()
