"""Measures how long an accepted event takes until it can be read back: ``python -m bench.durable``.

Starts its own stage. Single messages, rides and clicks are sent at a steady rate, each kind alone, and some are looked
for until they can be read. Then messages are sent again while clicks wait to be stored: they are put into the queue of
their stream at once, as an import does. The peer of messages beside that backlog are messages without one. With
``--into chat`` the clicks wait in the queue of messages, as they did when all streams shared their queues.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pika
import uvloop

from bench import ROOT
from bench.rounds import Series, command, figure, head, ratio, row
from bench.singles.senders import CONNECTIONS, KINDS, Send, click, message
from headrace.core import times
from headrace.core.caller import SenderContext
from headrace.core.envelope import Envelope
from headrace.queues.names import PERSIST_EXCHANGE, persist_queue
from headrace.streams.ads.stream import ADS
from loadtest.checker.durability_probe import DurabilityProbe, Look
from loadtest.client.stage_process import SeparateStage, interruptible
from localstage.client.errors import HttpError
from localstage.client.http_api import HttpApi

STATE = ROOT / ".local" / "bench-durable"
RATE = 50.0
BACKLOG, BATCH = 200_000, 10
BESIDE = "message beside clicks that wait"
SAMPLE_SECONDS, LOOK_SECONDS = 0.1, 0.02


class Stage:
    """A separate stage, and the latencies of its events by kind."""

    def __init__(self, folder: Path, queue: str) -> None:
        self.process = SeparateStage(folder)
        self._queue = queue
        self._folder = folder
        self._numbers = itertools.count()

    def start(self) -> None:
        """Start it, and connect to its broker as the administrator."""
        self.target = self.process.start()
        self.target.http("durable", "events:write").post("/resorts/1/seasons", {"year": "2025"})
        self._reader: HttpApi = self.target.http("durable", "chat:read", "analytics:read")
        url = next(each["url"] for each in self.process.status()["services"] if each["name"].startswith("RabbitMQ"))
        known = json.loads(json.loads((self._folder / "secrets.json").read_text())["BrokerSecret"]["value"])
        self._broker = pika.URLParameters(url)
        self._broker.credentials = pika.PlainCredentials(known["username"], known["password"])

    def latencies(self, kind: str, seconds: float) -> list[float]:
        """Send events of a ``kind`` for some seconds; the sorted seconds until the samples could be read."""
        found: list[float] = []
        lock = threading.Lock()

        def add(taken: float, _count: int) -> None:
            with lock:
                found.append(taken)

        probe = DurabilityProbe(
            lambda numbers: (1, self._look(kind, numbers[0])), add, every=SAMPLE_SECONDS, interval=LOOK_SECONDS
        )
        uvloop.run(self._send(kind, seconds, probe))
        probe.finish()
        return sorted(found)

    async def _send(self, kind: str, seconds: float, probe: DurabilityProbe) -> None:
        _, connect = KINDS[kind]
        async with AsyncExitStack() as stack:
            opened = [await stack.enter_async_context(connect(self.target, place)) for place in range(CONNECTIONS)]
            start = time.perf_counter()

            async def one(place: int, send: Send) -> None:
                for turn in itertools.count():
                    at = start + (turn * CONNECTIONS + place) / RATE
                    if at > start + seconds:
                        return
                    await asyncio.sleep(at - time.perf_counter())
                    number, began = next(self._numbers), time.perf_counter()
                    await send(number)
                    probe.offer([number], began)

            await asyncio.gather(*(one(place, send) for place, send in enumerate(opened)))

    def _look(self, kind: str, number: int) -> Look:
        """Looks for one event by the question that a client would ask."""

        def look() -> int:
            try:
                if kind == "message":
                    sent = message(number)
                    items = self._reader.room_page(sent["roomId"], limit=100)["items"]
                    return sum(item["messageId"] == sent["messageId"] for item in items)
                if kind == "ride":
                    return int(self._reader.get_value(f"/skiers/1/seasons/2025/days/1/skiers/{number + 1}") > 0)
                path, body = click(number)
                return sum(item["clickId"] == body["clickId"] for item in self._reader.get(path)["items"])
            except HttpError as error:
                if error.status != 404:
                    raise
                return 0

        return look

    def put_clicks(self, word: str) -> None:
        """Put the backlog into the queue of clicks."""
        properties = pika.BasicProperties(delivery_mode=2, content_type="application/json")
        with closing(pika.BlockingConnection(self._broker)) as connection:
            channel = connection.channel()
            for body in records(word):
                channel.basic_publish(PERSIST_EXCHANGE, self._queue, body, properties)

    def waiting(self) -> int:
        """Clicks in the queue that no function has yet."""
        with closing(pika.BlockingConnection(self._broker)) as connection:
            found = connection.channel().queue_declare(self._queue, passive=True).method.message_count
        return int(found) * BATCH


def records(word: str) -> Iterator[bytes]:
    """The records of the backlog, as receive_http makes them of requests with ten clicks."""
    now = times.SystemClock().now()
    sender = SenderContext("importer", "importer", True, now)
    for start in range(0, BACKLOG, BATCH):
        raws = ({**click(number)[1], "clickId": f"{word}-{number}"} for number in range(start, start + BATCH))
        events = [ADS.accept({"adId": "ad-1", **_without_address(raw)}, sender).event for raw in raws]
        yield Envelope(ADS.name, word, times.iso(now), events).encode()


def _without_address(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name != "address"}


def percentile(values: Sequence[float], percent: int) -> float:
    """Of sorted values."""
    return values[min(len(values) - 1, len(values) * percent // 100)]


def main(rounds: int, seconds: float, into: str) -> list[Series]:
    stage, found = Stage(STATE, persist_queue(into, 0)), defaultdict[tuple[str, int], list[float]](list)

    def measure(kind: str, name: str) -> None:
        latencies = stage.latencies(kind, seconds)
        for percent in (50, 99):
            found[name, percent].append(percentile(latencies, percent) * 1e3)

    left: list[float] = []
    with interruptible(), closing(stage.process):
        stage.start()
        for kind in ("message", "ride", "click"):
            stage.latencies(kind, 2.0)  # functions start cold
        for number in range(rounds):
            for kind in ("message", "ride", "click"):
                measure(kind, kind)
            stage.put_clicks(f"backlog-{number}")
            measure("message", BESIDE)
            left.append(stage.waiting())
            while stage.waiting():
                time.sleep(1.0)
    print(f"Medians of {rounds} rounds of {seconds:g} s for each kind, {RATE:g} single events/s.\n")
    head("event", "durable p50, ms", "durable p99, ms")
    for kind in dict.fromkeys(kind for kind, _ in found):
        row(kind, *(f"{statistics.median(found[kind, percent]):,.0f}" for percent in (50, 99)))
    print(f"\nAt the end, {statistics.median(left):,.0f} of {BACKLOG:,} clicks still waited.")
    beside = ratio("message, durable p99 beside a backlog", found[BESIDE, 99], found["message", 99], "lower")
    print(f"{beside.name}: {beside.median:.2f}×")
    return [beside, *(figure(f"{kind}, durable p{percent}", each, "ms") for (kind, percent), each in found.items())]


if __name__ == "__main__":
    command(__doc__, main, 3, seconds=10.0, into="ads")
