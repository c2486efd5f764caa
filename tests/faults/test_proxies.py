"""A fault kills the process that it names, and no other."""

from __future__ import annotations

import asyncio
import sys

from faults.proxies.socket_owner import kill_peer, owned_by

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
