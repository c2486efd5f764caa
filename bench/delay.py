"""A TCP proxy that holds everything a client sends for a fixed time, as a network would.

``python -m bench.delay TARGET_PORT MILLISECONDS`` listens on a free port of loopback, prints it, and relays until its
standard input ends. A process of its own, so that its work is not counted as the client's.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections import deque
from collections.abc import Iterator


class Server(asyncio.Protocol):
    """The side towards the target: what it answers passes at once."""

    def __init__(self, client: asyncio.Transport) -> None:
        self._client = client

    def data_received(self, data: bytes) -> None:
        self._client.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._client.close()


class Client(asyncio.Protocol):
    """The side towards the client: what it sends waits for its time."""

    def __init__(self, target: int, seconds: float) -> None:
        self._target = target
        self._seconds = seconds
        self._held: deque[bytes] = deque()
        self._server: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connecting = asyncio.ensure_future(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._server, _ = await loop.create_connection(lambda: Server(self._transport), "127.0.0.1", self._target)
        while self._held:
            self._server.write(self._held.popleft())

    def data_received(self, data: bytes) -> None:
        asyncio.get_running_loop().call_later(self._seconds, self._pass, data)

    def _pass(self, data: bytes) -> None:
        if self._server is None:
            self._held.append(data)
        else:
            self._server.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._server is not None:
            self._server.close()


async def relay(target: int, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Client(target, seconds), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


@contextlib.contextmanager
def delayed(target: int, milliseconds: float) -> Iterator[int]:
    """Run the proxy; the port it listens on."""
    command = [sys.executable, "-m", "bench.delay", str(target), str(milliseconds)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


if __name__ == "__main__":
    asyncio.run(relay(int(sys.argv[1]), float(sys.argv[2]) / 1000))
