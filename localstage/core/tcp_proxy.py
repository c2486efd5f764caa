"""A TCP proxy on loopback that can stall, delay, change and cut its connections.

``python -m localstage.core.tcp_proxy PORT --delay 0.008`` prints its own port and relays to ``PORT`` until its standard
input ends. In a separate process it takes no processor time from the client under measurement.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

HOST = "127.0.0.1"
CHUNK = 65536
QUEUED_CHUNKS = 64
"""Bytes per direction; beyond that TCP slows the sender down."""

T = TypeVar("T")
Filter = Callable[[bytes], bytes | None]
"""Returns what to pass on of a chunk: ``b""`` drops it, ``None`` resets its connection."""


class TcpProxy:
    """Listens on ``port`` and relays to ``target``, a port or a function that returns one for each connection.

    It runs in a separate thread; methods and attributes may be used from any thread. ``to_server`` and ``to_client``
    see each chunk. ``delay`` is the latency from client to server in seconds. ``connections`` counts all connections
    so far.
    """

    def __init__(self, target: int | Callable[[], int], *, delay: float = 0.0) -> None:
        self.to_server: Filter = bytes
        self.to_client: Filter = bytes
        self.delay = delay
        self.connections = 0
        self._target = target if callable(target) else lambda: target
        self._peers: set[int] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tcp-proxy", daemon=True)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._relay, HOST, 0))
        self.port: int = self._server.sockets[0].getsockname()[1]

    @property
    def peers(self) -> frozenset[int]:
        """The clients' ports of all open connections."""
        return frozenset(self._peers)

    def stall(self) -> None:
        """Hold everything in both directions: a black hole. Nothing is lost."""
        self._run(self._call(self._flowing.clear))

    def pass_all(self) -> None:
        """End every fault. Held data is passed on."""
        self.to_server = self.to_client = bytes
        self.delay = 0.0
        self._run(self._call(self._flowing.set))

    def cut(self) -> None:
        """Reset every open connection; new ones pass."""
        self._run(self._cut())

    def close(self) -> None:
        """Stop listening and reset every connection."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _call(self, action: Callable[[], None]) -> None:
        action()

    async def _cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)  # the sockets are closed in the loop's next round

    async def _close(self) -> None:
        self._server.close()
        await self._cut()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = writer.get_extra_info("peername")[1]
        writers = {writer}
        self.connections += 1
        self._peers.add(port)
        self._writers.add(writer)
        try:
            await self._flowing.wait()
            there, back = await asyncio.open_connection(HOST, self._target())
            writers.add(back)
            self._writers.add(back)
            pumps = (
                asyncio.create_task(self._pump(reader, back, to_server=True)),
                asyncio.create_task(self._pump(there, writer, to_server=False)),
            )
            try:
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
        except (OSError, asyncio.CancelledError):  # Python 3.11 logs a connection's task that ends as cancelled
            pass
        finally:
            self._peers.discard(port)
            self._writers -= writers
            for each in writers:
                each.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, to_server: bool) -> None:
        chunks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(QUEUED_CHUNKS)
        reading = asyncio.create_task(self._read(source, chunks, to_server=to_server))
        try:
            while True:
                due, chunk = await chunks.get()
                if due > self._loop.time():
                    await asyncio.sleep(due - self._loop.time())
                await self._flowing.wait()
                passing = (self.to_server if to_server else self.to_client)(chunk) if chunk else None
                if passing is None:
                    return
                sink.write(passing)
                await sink.drain()
        except OSError:
            return
        finally:
            reading.cancel()

    async def _read(
        self, source: asyncio.StreamReader, chunks: asyncio.Queue[tuple[float, bytes]], *, to_server: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while chunk := await source.read(CHUNK):
                await chunks.put((self._loop.time() + (self.delay if to_server else 0.0), chunk))
        await chunks.put((0.0, b""))


@contextlib.contextmanager
def delayed(port: int, seconds: float) -> Iterator[int]:
    """Run a proxy in front of ``port`` in another process; the port that it listens on."""
    command = [sys.executable, "-m", "localstage.core.tcp_proxy", str(port), "--delay", str(seconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None  # noqa: S101 - narrows the type
        assert process.stdout is not None  # noqa: S101 - narrows the type
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m localstage.core.tcp_proxy", description=__doc__.splitlines()[0])
    parser.add_argument("port", type=int)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds from client to server")
    options = parser.parse_args()
    proxy = TcpProxy(options.port, delay=options.delay)
    print(proxy.port, flush=True)
    sys.stdin.read()
    proxy.close()


if __name__ == "__main__":
    main()
