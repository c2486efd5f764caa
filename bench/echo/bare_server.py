"""An aiohttp server echoing without functions, the limit of a stage in Python: ``python -m bench.echo.bare_server``.

It prints its port, and serves ``GET /echo`` and a WebSocket at ``/``.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
import sys
from collections.abc import Iterator

import uvloop
from aiohttp import WSMsgType, web

from bench import ROOT


async def _http(request: web.Request) -> web.Response:
    return web.json_response({"path": request.path})


async def _websocket(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(compress=False)
    await socket.prepare(request)
    async for message in socket:
        if message.type is WSMsgType.TEXT:
            await socket.send_str(message.data)
    return socket


async def _serve() -> None:
    app = web.Application()
    app.add_routes([web.get("/echo", _http), web.get("/", _websocket)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


@contextlib.contextmanager
def running() -> Iterator[int]:
    """Run it in a separate process; yields its port."""
    command = [sys.executable, "-m", "bench.echo.bare_server"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not re.fullmatch(r"\d+\n", line):
            raise SystemExit("headrace: the bare server did not start")
        yield int(line)
    finally:
        process.kill()
        process.communicate()


if __name__ == "__main__":
    uvloop.run(_serve())
