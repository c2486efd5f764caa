"""Measures the rate of an echo function on the local stage beside a bare server: ``python -m bench.localstage``.

The bare server is aiohttp without functions, the limit of a stage in Python. Both take turns. Ratios hold on other
machines, rates do not.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import uvloop
from aiohttp import web

from bench import ROOT
from bench.rounds import Series, command, figure, head, ratio, row
from loadtest.client.stage_process import SeparateStage
from loadtest.client.target import Target

CONNECTIONS = 16
FRAME = json.dumps({"action": "echo", "text": "hello"})
Load = Callable[[str, float], Coroutine[None, None, float]]
"""Keeps a request outstanding on each of ``CONNECTIONS`` for some seconds; returns the answers per second."""


async def _http(request: web.Request) -> web.Response:
    return web.json_response({"path": request.path})


async def _frames(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(compress=False)
    await socket.prepare(request)
    async for message in socket:
        await socket.send_str(message.data)
    return socket


async def _serve(parent: Connection) -> None:
    app = web.Application()
    app.add_routes([web.get("/echo", _http), web.get("/", _frames)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    parent.send(runner.addresses[0][1])
    await asyncio.Event().wait()


def serve(parent: Connection) -> None:
    """The process of the bare server; it sends its port to ``parent``."""
    uvloop.run(_serve(parent))


@contextlib.contextmanager
def bare_server() -> Iterator[int]:
    """The port of a bare server."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(there,), daemon=True)
    process.start()
    try:
        yield int(here.recv())
    finally:
        process.kill()


@contextlib.contextmanager
def local_stage(folder: Path) -> Iterator[Target]:
    """A stage of the echo template of the end-to-end tests."""
    shutil.copytree(ROOT / "tests/e2e/echo", folder / "echo")
    with contextlib.closing(
        SeparateStage(folder / "state", "--template", str(folder / "echo" / "template.yaml"))
    ) as stage:
        yield stage.start()


async def requests(url: str, seconds: float) -> float:
    """HTTP requests, each of which an answer with status 200 follows."""
    parts = urlsplit(url)
    request = f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
    end = time.perf_counter() + seconds

    async def one() -> int:
        answered = 0
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        while time.perf_counter() < end:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if b" 200 " not in head[:16]:
                raise SystemExit(f"refused: {head[:100]!r}")
            await reader.readexactly(int(head.partition(b"content-length:")[2].split(b"\r\n")[0]))
            answered += 1
        writer.close()
        return answered

    return sum(await asyncio.gather(*(one() for _ in range(CONNECTIONS)))) / seconds


async def frames(url: str, seconds: float) -> float:
    """WebSocket frames, each of which its echo follows."""
    end = time.perf_counter() + seconds

    async def one(session: aiohttp.ClientSession) -> int:
        answered = 0
        async with session.ws_connect(url, compress=0) as socket:
            while time.perf_counter() < end:
                await socket.send_str(FRAME)
                await socket.receive_str()
                answered += 1
        return answered

    async with aiohttp.ClientSession() as session:
        return sum(await asyncio.gather(*(one(session) for _ in range(CONNECTIONS)))) / seconds


def turns(load: Load, ours: str, bare: str, rounds: int, seconds: float) -> tuple[list[float], list[float]]:
    """The rates of both in each round, one after the other."""
    pairs = [(uvloop.run(load(ours, seconds)), uvloop.run(load(bare, seconds))) for _ in range(rounds)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def main(rounds: int, seconds: float) -> list[Series]:
    head("echo function", "local stage, /s", "bare server, /s", "ratio")
    found = []
    with tempfile.TemporaryDirectory() as name, local_stage(Path(name)) as stage, bare_server() as port:
        places: dict[str, tuple[Load, str, str]] = {
            "HTTP requests": (requests, f"{stage.http_url}/echo", f"http://127.0.0.1:{port}/echo"),
            "WebSocket frames": (frames, f"{stage.websocket_url}?user=bench", f"ws://127.0.0.1:{port}/"),
        }
        for what, (load, ours, bare) in places.items():
            rates, limits = turns(load, ours, bare, rounds, seconds)
            against = ratio(f"{what}, rate against a bare server", rates, limits, "higher")
            found += [figure(what, rates, "/s"), against]
            medians = f"{statistics.median(rates):,.0f} | {statistics.median(limits):,.0f}"
            row(f"{what}", f"{medians}", f"{against.median:.2f}×")
    return found


if __name__ == "__main__":
    command(__doc__, main, 5, seconds=3.0)
