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
import json
import statistics
import time
from collections import defaultdict
from datetime import datetime
from functools import partial
from pathlib import Path

import aiohttp
import uvloop

from bench import ROOT
from bench.live.lean import SENDERS, Client, connect_all, send_messages
from bench.rounds import Series, command, head, median_text, percentile, ratio_text, row
from bench.stages import STAGE, Stage, in_turns

STATE = ROOT / ".local" / "bench-hops"
HOPS = ("receive", "confirm", "store", "copy", "posts")
CLIENTS = "senders and subscribers"
"""This process: the program that sends and the one that receives."""
NO_FUNCTIONS = (CLIENTS, STAGE, "RabbitMQ", "DynamoDB emulator", "Redis", "SQS emulator")
QUIET_SECONDS = 0.02
"""CPU of all functions in half a second, below which nothing is on its way."""
ALL = "all clients"
Cpu = dict[str, float]


class Side(Stage):
    """A stage with many clients."""

    def __init__(self, folder: Path, checkout: Path, clients: int) -> None:
        super().__init__(folder, checkout=checkout)
        self._clients = clients

    def start(self) -> None:
        """Start the stage, and get the tokens of all clients."""
        super().start()
        names = [f"hops-{number}" for number in range(self._clients + SENDERS)]
        self.tokens = [self.target.token_for(name, "chat:read", "chat:write")() for name in names]

    async def measure(self, loads: list[tuple[int, float]], seconds: float) -> None:
        """Connect all clients at once; then send to as many of them as each of ``loads`` says."""
        room = f"hops-{next(self.numbers)}"
        all_clients = [Client(self.target.websocket_url, token) for token in self.tokens]
        senders, subscribers = all_clients[:SENDERS], all_clients[SENDERS:]
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            await connect_all(session, senders, f"{room}-senders")
            await send_messages(senders, room, "first", 10, 0.2)  # then the room exists
            await self._quiet()
            self.cpu()
            self.found[ALL, "connect and subscribe, s"].append(await connect_all(session, subscribers, room))
            self._add("connection, µs", self.cpu(), len(subscribers) / 1e6)
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
        began = time.process_time()
        sent = await send_messages(senders, room, word, rate, seconds)
        spent = await self._quiet() | {CLIENTS: time.process_time() - began}
        name = f"{len(subscribers)} × {rate:g}/s"
        self._add(f"{name}, 1,000 deliveries, ms", spent, len(sent) * len(subscribers) / 1e6)
        self._hops(name, word, sent, senders, subscribers)

    def _hops(self, name: str, word: str, sent: list[float], senders: list[Client], subscribers: list[Client]) -> None:
        acked = {json.loads(text)["messageId"]: at for sender in senders for at, text in sender.arrived}
        facts: dict[str, tuple[float, float]] = {}
        delivered: dict[str, list[float]] = defaultdict(list)
        for subscriber in subscribers:
            for at, text in subscriber.arrived:
                frame = json.loads(text)
                stored = int(frame["position"][1:17]) / 1e6
                for item in frame["items"]:
                    key = item["messageId"]
                    delivered[key].append(at)
                    facts[key] = datetime.fromisoformat(item["timestamp"]).timestamp(), stored
        hops: dict[str, list[float]] = defaultdict(list)
        latencies = []
        for number, began in enumerate(sent):
            key = f"{word}-{number}"
            if key not in facts:
                continue
            (received, stored), first = facts[key], min(delivered[key])
            hops["receive"].append(received - began)
            hops["confirm"].append(acked[key] - received)
            hops["store"].append(stored - received)
            hops["copy"].append(first - stored)
            hops["posts"] += [at - first for at in delivered[key]]
            latencies += [at - began for at in delivered[key]]
        latencies.sort()
        self.found[name, "missing"].append(len(sent) * len(subscribers) - len(latencies))
        for part in (50, 99):
            self.found[name, f"p{part}, ms"].append(percentile(latencies, part) * 1e3)
        for hop in HOPS:
            self.found[name, f"{hop}, ms"].append(statistics.median(hops[hop]) * 1e3)

    async def _quiet(self) -> Cpu:
        """Wait until no function works; the CPU since the last look."""
        total: defaultdict[str, float] = defaultdict(float)
        while True:
            await asyncio.sleep(0.5)
            cpu = self.cpu()
            for name, spent in cpu.items():
                total[name] += spent
            if sum(_functions(cpu).values()) < QUIET_SECONDS:
                return total

    def _add(self, name: str, cpu: Cpu, count: float) -> None:
        functions = _functions(cpu)
        self.found[name, "functions"].append(sum(functions.values()) / count)
        for each in (*NO_FUNCTIONS, *sorted(functions)):
            if cpu.get(each, 0.0):
                self.found[name, each].append(cpu[each] / count)


def _functions(cpu: Cpu) -> Cpu:
    return {name: spent for name, spent in cpu.items() if name not in NO_FUNCTIONS}


def report(stages: list[Side]) -> list[Series]:
    """Print the medians of all sides, and of two sides the median ratio."""
    head("", *(each.name for each in stages), *(["ratio"] if len(stages) > 1 else []))
    for key in dict.fromkeys(key for side in stages for key in side.found):
        values = [side.found.get(key, []) for side in stages]
        row(": ".join(key), *map(median_text, values), *([ratio_text(*values)] if len(stages) > 1 else []))
    return stages[0].figures()


def main(rounds: int, seconds: float, beside: str, connections: int, loads: str) -> list[Series]:
    given = [(int(count), float(rate)) for count, _, rate in (load.partition("x") for load in loads.split(","))]
    make = partial(Side, clients=connections)
    return report(in_turns(make, STATE, beside, rounds, lambda side: uvloop.run(side.measure(given, seconds))))


if __name__ == "__main__":
    command(__doc__, main, 3, seconds=5.0, beside="", connections=1000, loads="400x50,100x50")
