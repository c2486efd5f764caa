"""The proxies simulate a failing network and failing services, and change nothing else."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import aiohttp
import pytest
from aiohttp import web

from faults.proxies.http_proxy import Call, HttpProxy
from faults.proxies.proxy_faults import BASIC_ACK, HalfThrottled, LosesConfirms, RefusesSome, down, refuse
from faults.proxies.socket_owner import kill_peer, owned_by
from localstage.tcp_proxy import TcpProxy, delayed


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


async def test_a_stalled_proxy_delays_all_bytes_and_loses_none() -> None:
    async with proxied() as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"one")
        assert await reader.readexactly(3) == b"one"

        proxy.stall()
        writer.write(b"two")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reader.readexactly(3), 0.2)

        proxy.pass_all()
        assert await reader.readexactly(3) == b"two"
        assert proxy.peers == {writer.get_extra_info("sockname")[1]}
        writer.close()


async def test_a_lost_confirm_closes_only_its_connection() -> None:
    async with proxied() as proxy:
        unlucky, unlucky_writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        lucky, lucky_writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        proxy.to_client = confirms = LosesConfirms(1)

        unlucky_writer.write(b"\x01" + BASIC_ACK)
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await unlucky.readexactly(1)

        lucky_writer.write(BASIC_ACK)
        assert await lucky.readexactly(4) == BASIC_ACK
        assert confirms.left == 0
        unlucky_writer.close()
        lucky_writer.close()


async def test_a_refusing_proxy_resets_connections_that_send() -> None:
    async with proxied() as proxy:
        proxy.to_server = refuse
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(b"one")

        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await reader.readexactly(1)
        writer.close()


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


async def test_a_proxy_refuses_requests_only_while_it_is_down() -> None:
    async def greet(_request: web.BaseRequest) -> web.Response:
        return web.Response(text="hello")

    runner = web.ServerRunner(web.Server(greet))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    host, port = runner.addresses[0]
    proxy = HttpProxy(lambda: f"http://{host}:{port}")
    await proxy.start()
    try:
        async with aiohttp.ClientSession() as session:
            proxy.fault = down
            with pytest.raises(aiohttp.ClientError):
                await session.post(proxy.url, data=b"{}")

            proxy.fault = HalfThrottled(1)
            async with session.post(proxy.url, data=b"{}") as answer:
                assert await answer.text() == "hello"
    finally:
        await proxy.stop()
        await runner.cleanup()


def batch(count: int) -> Call:
    requests = [{"PutRequest": {"Item": {"messageId": {"S": f"id-{number}"}}}} for number in range(count)]
    return Call("BatchWriteItem", json.dumps({"RequestItems": {"table": requests}}).encode(), ("127.0.0.1", 1))


async def test_a_throttling_proxy_stores_or_returns_every_item() -> None:
    taken: list[str] = []

    async def forward(body: bytes) -> web.Response:
        taken.extend(json.dumps(each) for each in json.loads(body)["RequestItems"]["table"])
        return web.Response(body=b"{}")

    throttle, call = HalfThrottled(2), batch(25)
    for _ in range(20):
        taken.clear()
        answer = await throttle(call, forward)
        assert isinstance(answer.body, bytes)
        if answer.status == 400:
            assert not taken
            continue
        left = [json.dumps(each) for each in json.loads(answer.body)["UnprocessedItems"].get("table", ())]
        given = [json.dumps(each) for each in json.loads(call.body)["RequestItems"]["table"]]
        assert sorted(taken + left) == sorted(given)
    assert throttle.unprocessed > 0


async def test_a_call_with_a_refused_item_is_refused() -> None:
    async def forward(_body: bytes) -> web.Response:
        return web.Response(body=b"{}")

    fault = RefusesSome("7")

    assert (await fault(batch(7), forward)).status == 200
    assert (await fault(batch(8), forward)).status == 400


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
