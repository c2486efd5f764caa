"""Measures the size of an ad click on the broker and the cost of storing it once: ``python -m bench.clicks``.

Size: the bodies that receive_http publishes for requests of 1, 10 and 100 clicks, with ids of 36 characters and an
address, as ad servers send them.

Cost: rows written into the table with its three indexes, in a dynalite in memory. They are written unconditionally, in
batches; then as persist_events writes them, on the condition that the key is new; then the same rows again, as after a
redelivery. CPU is that of this process only. Numbers are medians over the rounds. Bytes are compared with the click as
compact JSON, writes with the unconditional ones.
"""

from __future__ import annotations

import json
import statistics
from typing import Any

from bench.persist import measure_write
from bench.rounds import Series, command, figure, head, ratio, row
from bench.rows import Row, put
from bench.services import Database, database
from loadtest.ads.click_size import bytes_on_the_broker, validated

START = "2025-11-21T10:00:58.722861Z"


def click(number: int) -> dict[str, Any]:
    """A click as an ad server sends it."""
    return {
        "adId": f"ad-{number % 1000:06d}",
        "userId": f"user-{number % 50_000:06d}",
        "adType": "banner",
        "clickedAt": START,
        "clickId": f"018f3c5e-7b1a-7c3d-9e2f-{number:012d}",
    }


def events(first: int, count: int) -> list[dict[str, Any]]:
    """Validated clicks, with the hash of an address."""
    return validated([click(number) for number in range(first, first + count)])


def rows(first: int, count: int) -> list[Row]:
    """The table rows of clicks."""
    from headrace.core.stream import TableSettings
    from headrace.core.times import parse_iso
    from headrace.streams.ads.stream import ADS

    table = TableSettings(table="AdClicks", retention_days=90)
    return [ADS.item(event, parse_iso(START), table) for event in events(first, count)]


def sizes() -> list[Series]:
    """Print the size of requests on the broker; returns it as a multiple of the clicks as JSON."""
    head("clicks in a request", "bytes on the broker", "per click")
    found = []
    for count in (1, 10, 100):
        clicks = [click(number) for number in range(count)]
        size = bytes_on_the_broker(clicks)
        as_json = sum(len(json.dumps(each, separators=(",", ":"))) for each in clicks)
        found.append(ratio(f"bytes of {count} clicks against JSON", [size], [as_json], "lower"))
        row(f"{count}", f"{size:,}", f"{size / count:.0f}")
    return found


def writing(found: Database, rounds: int, count: int, parallel: int) -> list[Series]:
    """Measure the three kinds of writes in turn, and print them; returns the numbers."""
    from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
    from headrace.streams.ads.stream import ADS

    table = found.create_table("AdClicks")
    store, key = DynamoStore(writing_client(parallel), parallel, retry_seconds=30), (ADS.partition_key, ADS.sort_key)

    seen: dict[str, list[tuple[float, float]]] = {
        "unconditionally": [],
        "with the condition that the key is new": [],
        "the same rows again": [],
    }
    for number in range(rounds + 1):
        batch, single = rows(2 * number * count, count), rows((2 * number + 1) * count, count)
        measured = [
            measure_write(lambda items: put(store, table, key, items), batch),
            measure_write(lambda items: put(store, table, key, items, insert_only=True), single),
            measure_write(lambda items: put(store, table, key, items, insert_only=True), single),
        ]
        for results, result in zip(seen.values(), measured, strict=True):
            results += [result] if number else []  # the first round warms up
    print()
    head("written", "clicks/s", "CPU per click")
    for way, results in seen.items():
        rate, cost = (statistics.median(side) for side in zip(*results, strict=True))
        row(f"{way}", f"{rate:,.0f}", f"{cost:,.0f} µs")
    plain, *others = ([cost for _, cost in results] for results in seen.values())
    return [
        *(figure(f"CPU per click {way}", (cost for _, cost in results), "µs") for way, results in seen.items()),
        *(
            ratio(f"CPU {way} against unconditionally", costs, plain, "lower")
            for way, costs in zip(list(seen)[1:], others, strict=True)
        ),
    ]


def main(rounds: int, clicks: int, parallel: int) -> list[Series]:
    with database() as found:
        return sizes() + writing(found, rounds, clicks, parallel)


if __name__ == "__main__":
    command(__doc__, main, 5, clicks=1000, parallel=8)
