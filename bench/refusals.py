"""Measures another sender's posts beside a flood of refusals: ``python -m bench.refusals``.

Starts its own stage, with the limits per caller of a stage on AWS. Alice sends what is refused, over one connection and
over four: each sends again when it is answered. Bob posts a message every 20 ms, in turns without the flood and with
it. A ratio is that of his median latencies. Everything shares the processors of this machine, the flood's clients too.
The peer is a flood of requests that no function answers.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import urlsplit

import aiohttp
import uvloop

from bench import ROOT
from bench.rounds import Series, command, figure, head, ratio, row
from bench.stages import Stage, started
from loadtest.client.stage_template import write_template
from loadtest.client.target import Target
from loadtest.client.websocket import SUBPROTOCOL

STATE = ROOT / ".local" / "bench-refusals"
LIMITS = {"EventRate": "100", "RequestRate": "100"}
"""The defaults of the template; a local stage allows more."""
AIM = 2.0
POSTS = 40
PAUSE = 0.02
FIRST, AGAIN = 2.0, 0.3
"""Seconds of a flood before it is measured: the first time, functions start and the limit is used up."""
FRAME, PEER = "frames that are no JSON", "peer: paths without a route"
BODIES = {
    "batches of 500 wrong events": ("/messages/batch", json.dumps({"events": [{"roomId": "r"}] * 500})),
    PEER: ("/nowhere", "{no"),
}


class Poster:
    """Bob, on one connection."""

    def __init__(self, target: Target) -> None:
        self._connection = HTTPConnection(urlsplit(target.http_url).netloc, timeout=30)
        token = target.token_for("bob", "chat:read", "chat:write")()
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def median(self) -> float:
        """The median seconds of ``POSTS`` posts."""
        return statistics.median([self._post() for _ in range(POSTS)])

    def _post(self) -> float:
        time.sleep(PAUSE)
        body = json.dumps({"message": "about as long as people write in a chat"})
        began = time.perf_counter()
        self._connection.request("POST", "/rooms/lounge/messages", body, self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != 202:
            raise SystemExit(f"Bob's post is not accepted: {answer.status} {text[:300]!r}")
        return time.perf_counter() - began


class Flood:
    """Alice, in another process, which can be stopped for a while. ``refused`` counts what was answered."""

    def __init__(self, target: Target, kind: str, connections: int) -> None:
        self.refused = multiprocessing.Value("q", 0)
        self._target, self._kind, self._connections = target, kind, connections
        self._token = target.token_for("alice", "chat:read", "chat:write")()

    @contextmanager
    def process(self) -> Iterator[int]:
        """Run the process; gives its id."""
        process = multiprocessing.Process(target=self._run, daemon=True)
        process.start()
        try:
            yield process.pid or 0
        finally:
            process.kill()
            process.join()

    def _run(self) -> None:
        uvloop.run(self._all_connections())

    async def _all_connections(self) -> None:
        async with aiohttp.ClientSession() as session:
            one = self._frames if self._kind == FRAME else self._bodies
            await asyncio.gather(*(one(session) for _ in range(self._connections)))

    async def _frames(self, session: aiohttp.ClientSession) -> None:
        protocols = [SUBPROTOCOL, self._token]
        async with session.ws_connect(self._target.websocket_url, protocols=protocols, compress=0) as socket:
            while True:
                await socket.send_str("{no")
                self._check('"error"' in await socket.receive_str())

    async def _bodies(self, session: aiohttp.ClientSession) -> None:
        path, body = BODIES[self._kind]
        headers = {"authorization": f"Bearer {self._token}", "content-type": "application/json"}
        while True:
            async with session.post(self._target.http_url + path, data=body, headers=headers) as answer:
                await answer.read()
                self._check(answer.status >= 400)

    def _check(self, is_refused: bool) -> None:
        if not is_refused:
            raise SystemExit("a request of the flood was accepted")
        self.refused.value += 1


def measure(stage: Stage, rounds: int, connections: int, kind: str) -> list[Series]:
    """Print a row of the table; returns its ratios, and the CPU of the function that refuses frames."""
    poster, flood = Poster(stage.target), Flood(stage.target, kind, connections)
    usual, beside, rates, cpu = list[float](), list[float](), list[float](), list[float]()
    with flood.process() as pid:
        time.sleep(FIRST)
        for _ in range(rounds):
            os.kill(pid, signal.SIGSTOP)
            usual.append(poster.median())
            os.kill(pid, signal.SIGCONT)
            time.sleep(AGAIN)
            stage.cpu()
            began, before = time.perf_counter(), flood.refused.value
            beside.append(poster.median())
            refused, seconds = flood.refused.value - before, time.perf_counter() - began
            rates.append(refused / seconds)
            cpu.append(stage.cpu().get("ReceiveFrame", 0.0) / refused * 1e6)
    found = ratio(f"{kind}, connections: {connections}: another's post", beside, usual, "lower")
    times = (f"{1000 * statistics.median(each):.1f} ms" for each in (usual, beside))
    worker = figure(f"{kind}, connections: {connections}: CPU of the function", cpu if kind == FRAME else [], "µs")
    spent = f"{worker.median:.0f} µs" if worker.values else "–"
    aim = "–" if kind == PEER else f"< {AIM:g}×"
    row(kind, f"{connections}", f"{statistics.median(rates):,.0f}/s", spent, *times, f"{found.median:.2f}×", aim)
    return [found, worker] if worker.values else [found]


def main(rounds: int) -> list[Series]:
    stage = Stage(STATE, "--template", str(write_template(STATE / "template", [], LIMITS)))
    with started(stage):
        Poster(stage.target).median()  # warms up
        head("refused", "connections", "refusals", "function's CPU", "usual post", "post beside", "ratio", "aim")
        kinds = [(connections, kind) for connections in (1, 4) for kind in (FRAME, *BODIES)]
        return [each for kind in kinds for each in measure(stage, rounds, *kind)]


if __name__ == "__main__":
    command(__doc__, main, 9)
