"""Measures connecting and live messages, by hop and by process: ``python -m bench.live.hops --beside CHECKOUT``.

Starts its own stage. In each round so many clients connect and subscribe to one room at once. Some of them stay, and
five senders send messages at a steady rate. The hops of a message lie between times that clients see:

receive
    from sending until the receiving function gives the message its ``timestamp``
confirm
    from there until the sender has the acknowledgement
store
    from ``timestamp`` until the row is stored, which is the time in the ``position`` of the live frame
copy
    from there until the first subscriber has the frame: live copy, broker, mapping, reading the subscriptions, a post
posts
    from there until a subscriber has it

With ``--beside``, the stage of another checkout of this repository takes turns with this one's.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import time
from collections import defaultdict
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import aiohttp
import uvloop

from bench import ROOT
from bench.live.lean import SENDERS, Client, clients, connect_all, send_messages
from bench.rounds import Series, command, figure, head, row
from loadtest.client.stage_process import SeparateStage, interruptible
from loadtest.samples.processes import ProcessUsage

STATE = ROOT / ".local" / "bench-hops"
HOPS = ("receive", "confirm", "store", "copy", "posts")
NO_FUNCTIONS = ("stage", "RabbitMQ", "DynamoDB emulator", "Redis", "SQS emulator")
QUIET_SECONDS = 0.02
"""CPU of all functions in half a second, below which nothing is on its way."""
Cpu = dict[str, float]


class Side:
    """A stage of one checkout, and what it took: a number per round for each row of the table."""

    def __init__(self, name: str, checkout: Path, tokens: int) -> None:
        self.name = name
        self.stage = SeparateStage(STATE / name, checkout=checkout)
        self._tokens = tokens
        self._rooms = itertools.count()
        self.found: defaultdict[str, list[float]] = defaultdict(list)

    def start(self) -> None:
        """Start the stage, and get the tokens of all clients."""
        self.target = self.stage.start()
        names = [f"hops-{number}" for number in range(self._tokens + SENDERS)]
        self.tokens = [self.target.token_for(name, "chat:read", "chat:write")() for name in names]
        self._usage, self._roots = ProcessUsage(), {self.stage.pid: "stage"}
        self._usage.take(self._roots)

    async def measure(self, loads: list[tuple[int, float]], seconds: float) -> None:
        """Connect all clients at once; then send to as many of them as each of ``loads`` says."""
        room = f"hops-{next(self._rooms)}"
        all_clients = clients(self.target, self.tokens)
        senders, subscribers = all_clients[:SENDERS], all_clients[SENDERS:]
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            await connect_all(session, senders, f"{room}-senders")
            await send_messages(senders, room, "first", 10, 0.2)  # then the room exists
            await self._quiet()
            self._take()
            self.found["connect and subscribe, s"].append(await connect_all(session, subscribers, room))
            self._add("connection, µs", self._take(), len(subscribers) / 1e6)
            for client in all_clients:
                client.listen()
            for count, rate in loads:
                await asyncio.gather(*(each.close() for each in subscribers[count:]))
                subscribers = subscribers[:count]
                await self._quiet()
                await self._push(senders, subscribers, room, rate, seconds)
            await asyncio.gather(*(each.close() for each in [*senders, *subscribers]))
        await self._quiet()

    async def _push(
        self, senders: list[Client], subscribers: list[Client], room: str, rate: float, seconds: float
    ) -> None:
        word = f"w{time.monotonic_ns():x}"
        for each in [*senders, *subscribers]:
            each.arrived.clear()
        sent = await send_messages(senders, room, word, rate, seconds)
        name = f"{len(subscribers)} × {rate:g}/s"
        self._add(f"{name}: 1,000 deliveries, ms", await self._quiet(), len(sent) * len(subscribers) / 1e6)
        self._hops(name, word, sent, senders, subscribers)

    def _hops(self, name: str, word: str, sent: list[float], senders: list[Client], subscribers: list[Client]) -> None:
        acked = {json.loads(text)["messageId"]: at for sender in senders for at, text in sender.arrived}
        first: dict[str, float] = {}
        facts: dict[str, tuple[float, float]] = {}
        delivered: dict[str, list[float]] = defaultdict(list)
        for subscriber in subscribers:
            for at, text in subscriber.arrived:
                frame = json.loads(text)
                stored = int(frame["position"][1:17]) / 1e6
                for item in frame["items"]:
                    key = item["messageId"]
                    delivered[key].append(at)
                    first[key] = min(at, first.get(key, at))
                    facts[key] = datetime.fromisoformat(item["timestamp"]).timestamp(), stored
        hops: dict[str, list[float]] = defaultdict(list)
        latencies = []
        for number, began in enumerate(sent):
            key = f"{word}-{number}"
            if key not in facts:
                continue
            received, stored = facts[key]
            hops["receive"].append(received - began)
            hops["confirm"].append(acked[key] - received)
            hops["store"].append(stored - received)
            hops["copy"].append(first[key] - stored)
            hops["posts"] += [at - first[key] for at in delivered[key]]
            latencies += [at - began for at in delivered[key]]
        latencies.sort()
        self.found[f"{name}: missing"].append(len(sent) * len(subscribers) - len(latencies))
        for part in (50, 99):
            self.found[f"{name}: p{part}, ms"].append(latencies[len(latencies) * part // 100] * 1e3)
        for hop in HOPS:
            self.found[f"{name}: {hop}, ms"].append(statistics.median(hops[hop]) * 1e3)

    async def _quiet(self) -> Cpu:
        """Wait until no function works; the CPU since the last look."""
        total: defaultdict[str, float] = defaultdict(float)
        while True:
            await asyncio.sleep(0.5)
            cpu = self._take()
            for name, spent in cpu.items():
                total[name] += spent
            if sum(_functions(cpu).values()) < QUIET_SECONDS:
                return total

    def _take(self) -> Cpu:
        return self._usage.take(self._roots)[0]

    def _add(self, name: str, cpu: Cpu, count: float) -> None:
        functions = _functions(cpu)
        self.found[f"{name}: functions"].append(sum(functions.values()) / count)
        for each in (*NO_FUNCTIONS[:4], *sorted(functions)):
            if cpu.get(each, 0.0):
                self.found[f"{name}: {each}"].append(cpu[each] / count)


def _functions(cpu: Cpu) -> Cpu:
    return {name: spent for name, spent in cpu.items() if name not in NO_FUNCTIONS}


def report(sides: list[Side]) -> list[Series]:
    """Print the medians of all sides, and of two sides the median ratio."""
    head("", *(each.name for each in sides), *(["ratio"] if len(sides) > 1 else []))
    for name in dict.fromkeys(name for side in sides for name in side.found):
        values = [side.found.get(name, []) for side in sides]
        ratios = [ours / theirs for ours, theirs in zip(*values, strict=False) if theirs] if len(sides) > 1 else []
        cells = [
            f"{statistics.median(each):,.{1 if statistics.median(each) < 100 else 0}f}" if each else ""
            for each in values
        ]
        row(name, *cells, *([f"{statistics.median(ratios):.2f}×" if ratios else ""] if len(sides) > 1 else []))
    return [figure(name, values, "") for name, values in sides[0].found.items()]


def main(rounds: int, seconds: float, beside: str, connections: int, loads: str) -> list[Series]:
    sides = [Side("here", ROOT, connections)]
    if beside:
        sides.append(Side("beside", Path(beside).resolve(), connections))
    given = [(int(count), float(rate)) for count, _, rate in (load.partition("x") for load in loads.split(","))]
    with interruptible(), ExitStack() as stack:
        for side in sides:
            stack.callback(side.stage.close)
            side.start()
        for number in range(rounds + 1):
            for side in sides if number % 2 else sides[::-1]:
                uvloop.run(side.measure(given, seconds if number else 2.0))
                if not number:  # the first round warms up
                    side.found.clear()
    return report(sides)


if __name__ == "__main__":
    command(__doc__, main, 3, seconds=5.0, beside="", connections=1000, loads="400x50,100x50")
