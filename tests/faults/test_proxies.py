"""The proxies simulate a failing network and failing services, and change nothing else."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from faults.proxies.socket_owner import kill_peer, owned_by
from localstage.core.tcp_proxy import TcpProxy, delayed


@asynccontextmanager
async def echo_server() -> AsyncIterator[int]:
    """The port of a server that sends back what it gets."""
    before = asyncio.all_tasks()

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(1000):
                writer.write(data)
                await writer.drain()
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    # Also those of connections that are still being accepted.
    while handlers := asyncio.all_tasks() - before:
        await asyncio.wait(handlers)


@asynccontextmanager
async def proxied() -> AsyncIterator[TcpProxy]:
    """A proxy in front of an echo server."""
    async with echo_server() as port:
        proxy = TcpProxy(port)
        try:
            yield proxy
        finally:
            proxy.close()


async def test_a_delayed_proxy_delivers_late_and_in_order() -> None:
    async with proxied() as proxy:
        proxy.delay = 0.1
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        began = time.monotonic()
        writer.write(b"one")
        await writer.drain()
        await asyncio.sleep(0.05)
        proxy.delay = 0.0
        writer.write(b"two")

        assert await reader.readexactly(6) == b"onetwo"
        assert time.monotonic() - began >= 0.1
        writer.close()


async def test_a_proxy_in_another_process_relays_until_its_block_ends() -> None:
    async with echo_server() as server:
        with delayed(server, 0.01) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"one")
            assert await reader.readexactly(3) == b"one"
            writer.close()


HOLD = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.recv(1)"


async def test_only_a_process_with_the_given_name_is_killed() -> None:
    connected: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set_result(writer.get_extra_info("peername")[1])
        await reader.read()
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = str(server.sockets[0].getsockname()[1])
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLD, port, "ThatWorker")
    peer = await asyncio.wait_for(connected, 10)

    assert owned_by(peer, "ThatWorker")
    assert not owned_by(peer, "AnotherWorker")
    assert not kill_peer(peer, "AnotherWorker")
    assert process.returncode is None
    assert kill_peer(peer, "ThatWorker")
    assert await process.wait() == -9
    server.close()
