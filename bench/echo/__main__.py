"""Compares the local stage with a bare server and with `sam local start-api`: an echo function on the same machine.

    python -m bench.echo [--seconds 8] [--connections 16] [--rounds 5]

The bare server of bench/echo/bare_server.py runs no function, so it is the limit of a stage in Python; both take turns.
SAM runs the same function of tests/e2e/echo. It needs a container engine (Docker, or DOCKER_HOST pointing to one);
without it that row is left out. Rates are medians of the rounds. Ratios hold on other machines, rates do not.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import ROOT
from bench.echo import bare_server
from bench.echo.loadgen import Load, http_load, websocket_load
from bench.rounds import add_options, figure, ratio, write
from loadtest.client.stage_process import StageProcess, localstage
from loadtest.client.target import Target

ECHO = ROOT / "tests/e2e/echo"
SAM = ROOT / ".local/sam/bin/sam"
FRAME = json.dumps({"action": "echo", "text": "hello"})


@contextlib.contextmanager
def local_stage(folder: Path) -> Iterator[Target]:
    """A stage of the echo template in ``folder``."""
    shutil.copytree(ECHO, folder / "echo")
    arguments = ("--template", str(folder / "echo" / "template.yaml"), "--http-port", "0", "--websocket-port", "0")
    state = folder / ".local"
    process = StageProcess(lambda _line: None, localstage(state, "up", *arguments), state / "stage.json")
    try:
        yield process.start()
    finally:
        process.close()


@contextlib.contextmanager
def sam_local(folder: Path) -> Iterator[str | None]:
    """`sam local start-api` with warm containers; yields its URL, or None without an engine or the SAM CLI."""
    if not SAM.exists() or not (os.environ.get("DOCKER_HOST") or Path("/var/run/docker.sock").exists()):
        yield None
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    machine = "arm64" if os.uname().machine == "aarch64" else "x86_64"
    template = folder / "template.yaml"
    handler = "    Handler: app.handler\n"
    text = (ECHO / "template.yaml").read_text()
    text = text.replace(handler, f"{handler}    Architectures: [{machine}]\n", 1)
    # A container mounts a layer only after `sam build`. Without it, the layer's module is copied beside the function.
    template.write_text(text.replace("      Layers:\n        - !Ref GreetingLayer\n", ""))
    shutil.copytree(ECHO / "functions", folder / "functions")
    shutil.copytree(ECHO / "layers/greeting", folder / "functions/echo", dirs_exist_ok=True)
    shutil.copytree(ECHO / "layers", folder / "layers")
    command = [str(SAM), "local", "start-api", "--template", str(template), "--port", str(port), "--skip-pull-image"]
    command += ["--container-host", "127.0.0.1", "--warm-containers", "EAGER"]
    log = (folder / "sam.log").open("w")
    environment = {**os.environ, "SAM_CLI_TELEMETRY": "0", "AWS_DEFAULT_REGION": "us-east-1"}
    sam = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}/echo"
    try:
        yield url if answers(url, 180, sam) else None
    finally:
        sam.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            sam.wait(30)
        sam.kill()


def answers(url: str, seconds: float, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError, urllib.error.URLError), urllib.request.urlopen(url, timeout=60) as answer:
            return bool(answer.status == 200)
        time.sleep(0.5)
    return False


def cold_starts(stage: Target, code: Path, count: int) -> list[float]:
    """Seconds from request to answer after an edit, which ends every environment of the function."""
    seconds = []
    for _ in range(count):
        code.write_text(code.read_text() + "\n")
        time.sleep(1.0)
        start = time.perf_counter()
        urllib.request.urlopen(stage.http_url + "/echo", timeout=30).read()
        seconds.append(time.perf_counter() - start)
    return seconds


def turns(send: Callable[[str], Awaitable[Load]], urls: tuple[str, str], rounds: int) -> tuple[list[Load], list[Load]]:
    """Load both URLs in each round, one after the other."""

    async def both() -> tuple[Load, Load]:
        return await send(urls[0]), await send(urls[1])

    ours, theirs = zip(*(asyncio.run(both()) for _ in range(rounds)), strict=True)
    return list(ours), list(theirs)


def row(name: str, loads: list[Load]) -> list[str]:
    rates = [load.rate for load in loads]
    middle = loads[sorted(range(len(loads)), key=lambda i: rates[i])[len(loads) // 2]]
    errors = sum(load.errors for load in loads)
    spread = f"{min(rates):,.0f} to {max(rates):,.0f}"
    p50, p99 = (f"{middle.percentile(share) * 1000:.1f} ms" for share in (0.5, 0.99))
    return [name, f"{statistics.median(rates):,.0f}", spread, p50, p99, str(errors)]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.echo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--connections", type=int, default=16)
    add_options(parser, 5)
    options = parser.parse_args()
    table = Table(
        "echo function", "per second", "rounds", "p50", "p99", "errors", title="Local stage, medians of rounds"
    )
    load = {"connections": options.connections, "seconds": options.seconds}

    with (
        tempfile.TemporaryDirectory() as folder,
        local_stage(Path(folder)) as stage,
        bare_server.running() as port,
    ):
        urls = stage.http_url + "/echo", f"http://127.0.0.1:{port}/echo"
        https, bare_https = turns(lambda url: http_load(url, **load), urls, options.rounds)
        sockets = stage.websocket_url + "?user=bench", f"ws://127.0.0.1:{port}/"
        frames, bare_frames = turns(lambda url: websocket_load(url, FRAME, **load), sockets, options.rounds)
        colds = cold_starts(stage, Path(folder) / "echo/functions/echo/app.py", 5)
    table.add_row(*row("local stage, HTTP requests", https))
    table.add_row(*row("local stage, WebSocket frames, two-way", frames))
    table.add_row(*row("bare server, HTTP requests", bare_https))
    table.add_row(*row("bare server, WebSocket frames, two-way", bare_frames))
    shortest, middle, longest = (f"{x * 1000:.0f} ms" for x in (min(colds), statistics.median(colds), max(colds)))
    table.add_row("local stage, cold start", "", f"{shortest} to {longest}", middle, "", "")

    with tempfile.TemporaryDirectory() as folder, sam_local(Path(folder)) as url:
        if url is None:
            table.caption = "sam local start-api: not measured; it needs `make validate` once, and a container engine"
        else:
            sams = [asyncio.run(http_load(url, **load)) for _ in range(options.rounds)]
            table.add_row(*row("sam local start-api, warm containers", sams))
            gain = statistics.median(x.rate for x in https) / max(statistics.median(x.rate for x in sams), 0.01)
            table.caption = f"HTTP: {gain:.0f} times sam local start-api"
    Console().print(table)
    found = [figure("cold start", (each * 1000 for each in colds), "ms")]
    for what, ours, theirs in (("HTTP requests", https, bare_https), ("WebSocket frames", frames, bare_frames)):
        rates = [load.rate for load in ours]
        found.append(figure(what, rates, "/s"))
        found.append(ratio(f"{what}, rate against a bare server", rates, [load.rate for load in theirs], "higher"))
    write(found, options.json)


if __name__ == "__main__":
    main()
