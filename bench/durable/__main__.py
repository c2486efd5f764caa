"""Measures how long an accepted event takes until it can be read back: ``python -m bench.durable``.

Starts its own stage. Single messages, rides and clicks are sent at a steady rate, each kind alone, and some are looked
for until they can be read. Then messages are sent again while clicks wait to be stored: they are put into the queue of
their stream at once, as an import does. The peer of messages beside that backlog are messages without one.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import closing

import pika
import uvloop

from bench import ROOT
from bench.rounds import Series, command, head, median_text, percentile, ratio, row
from bench.singles.senders import KINDS, click, message, send
from bench.stages import Stage, started
from headrace.core import times
from headrace.core.envelope import Envelope
from headrace.core.sender import SenderContext
from headrace.features.ads.stream import ADS
from headrace.queues.names import PERSIST_EXCHANGE, persist_queue
from loadtest.checker.durability_probe import DurabilityProbe, Look
from localstage.client.http_api import HttpApi

STATE = ROOT / ".local" / "bench-durable"
RATE = 50.0
BACKLOG, BATCH = 200_000, 10
CLICKS = persist_queue(ADS.name, 0)
BESIDE = "message beside clicks that wait"
PERCENTILES = {50: "durable p50, ms", 99: "durable p99, ms"}
SAMPLE_SECONDS, LOOK_SECONDS = 0.1, 0.02


class DurableStage(Stage):
    """A stage whose events are read back."""

    def start(self) -> None:
        """Start it, and create what events need."""
        super().start()
        self.target.http("durable", "events:write").post("/resorts/1/seasons", {"year": "2025"})
        self._reader: HttpApi = self.target.http("durable", "chat:read", "analytics:read")

    def measure(self, kind: str, name: str, seconds: float) -> None:
        """Add the latencies of one round."""
        latencies = self.latencies(kind, seconds)
        for percent, measure in PERCENTILES.items():
            self.found[name, measure].append(percentile(latencies, percent) * 1e3)

    def latencies(self, kind: str, seconds: float) -> list[float]:
        """Send events of a ``kind`` for some seconds; the sorted seconds until the samples could be read."""
        found: list[float] = []
        probe = DurabilityProbe(
            lambda numbers: (1, self._look(kind, numbers[0])),
            lambda taken, _count: found.append(taken),
            every=SAMPLE_SECONDS,
            interval=LOOK_SECONDS,
        )

        def answered(number: int, sent_at: float) -> None:
            probe.offer([number], sent_at)

        uvloop.run(send(self.target, KINDS[kind], self.numbers, seconds, answered=answered, rate=RATE))
        probe.finish()
        return sorted(found)

    def _look(self, kind: str, number: int) -> Look:
        """Looks for one event by the question that a client would ask; the probe takes an error as not yet there."""

        def look() -> int:
            if kind == "message":
                sent = message(number)
                items = self._reader.room_page(sent["roomId"], limit=100)["items"]
                return sum(item["message"] == sent["message"] for item in items)
            if kind == "ride":
                return int(self._reader.get_value(f"/skiers/1/seasons/2025/days/1/skiers/{number + 1}") > 0)
            path, body = click(number)
            return sum(item["clickId"] == body["clickId"] for item in self._reader.get(path)["items"])

        return look

    def put_clicks(self, word: str) -> None:
        """Put the backlog into the queue of clicks."""
        properties = pika.BasicProperties(delivery_mode=2, content_type="application/json")
        with closing(pika.BlockingConnection(self.broker())) as connection:
            channel = connection.channel()
            for body in records(word):
                channel.basic_publish(PERSIST_EXCHANGE, CLICKS, body, properties)


def records(word: str) -> Iterator[bytes]:
    """The records of the backlog, as receive_http makes them of requests with ten clicks."""
    now = times.SystemClock().now()
    sender = SenderContext("importer", "importer", True, now)
    for start in range(0, BACKLOG, BATCH):
        raws = (
            {**click(number)[1], "adId": "ad-1", "clickId": f"{word}-{number}", "address": None}
            for number in range(start, start + BATCH)
        )
        events = [ADS.accept(raw, sender).event for raw in raws]
        yield Envelope(ADS.name, word, times.iso(now), events).encode()


def main(rounds: int, seconds: float) -> list[Series]:
    stage, left = DurableStage(STATE), list[int]()
    with started(stage):
        for kind in ("message", "ride", "click"):
            stage.latencies(kind, 2.0)  # functions start cold
        for number in range(rounds):
            for kind in ("message", "ride", "click"):
                stage.measure(kind, kind, seconds)
            stage.put_clicks(f"backlog-{number}")
            stage.measure("message", BESIDE, seconds)
            left.append(stage.waiting(CLICKS) * BATCH)
            while stage.waiting(CLICKS):
                time.sleep(1.0)
    print(f"Medians of {rounds} rounds of {seconds:g} s for each kind, {RATE:g} single events/s.\n")
    head("event", *PERCENTILES.values())
    for kind in dict.fromkeys(kind for kind, _ in stage.found):
        row(kind, *(median_text(stage.found[kind, measure]) for measure in PERCENTILES.values()))
    print(f"\nAt the end, {statistics.median(left):,.0f} of {BACKLOG:,} clicks still waited.")
    late, usual = (stage.found[kind, PERCENTILES[99]] for kind in (BESIDE, "message"))
    beside = ratio("message, durable p99 beside a backlog", late, usual, "lower")
    print(f"{beside.name}: {beside.median:.2f}×")
    return [beside, *stage.figures()]


if __name__ == "__main__":
    command(__doc__, main, 3, seconds=10.0)
