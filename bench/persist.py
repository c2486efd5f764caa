"""Compares writes of persist_events with boto3's ``batch_writer()``: ``python -m bench.persist``.

Starts its own dynalite with data in memory, because its disk would be slower than both writers. Both write chat
messages into the same table (with its indexes), without latency and through a proxy that delays each request by 8 ms,
as a network does. They take turns in each round. CPU is that of this process only, without the emulator and the proxy.
Numbers are medians over the rounds.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable

from bench.rounds import Better, Series, command, figure, head, ratio, row
from bench.rows import CHAT_KEY, Row, chat_row, put
from bench.services import Database, create_table, database
from localstage.core.tcp_proxy import delayed

DELAY_MS = 8
TABLE = "ChatMessages"
START = 1_763_719_200_000_000
BATCHES = itertools.count()
Write = Callable[[list[Row]], None]
Seen = list[tuple[tuple[float, float], tuple[float, float]]]


def messages(first: int, count: int) -> list[Row]:
    """Chat messages as plain values, which both writers take."""
    numbers = range(first, first + count)
    return [chat_row(f"room-{each % 200}", each, START + each * 1_000_000, user=each % 500) for each in numbers]


def batch_writer(url: str) -> Write:
    """A function that writes with boto3, as its documentation shows it."""
    import boto3

    table = boto3.resource("dynamodb", endpoint_url=url).Table(TABLE)

    def write(items: list[Row]) -> None:
        with table.batch_writer() as batch:
            for item in items:
                batch.put_item(Item=item)

    return write


def store(url: str, parallel: int) -> Write:
    """A function that writes with the store of persist_events, behind its breaker."""
    from headrace.runtime.breaker import BreakerRule
    from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
    from headrace.storage.ports import GuardedStore
    from headrace.streams.chat.messages.dynamodb import MessageStore

    os.environ["AWS_ENDPOINT_URL_DYNAMODB"] = url
    messages = MessageStore(GuardedStore(DynamoStore(writing_client(parallel), parallel), BreakerRule()))
    return lambda items: put(messages, TABLE, CHAT_KEY, items)


def measure_write(write: Write, items: list[Row]) -> tuple[float, float]:
    """Write ``items``; returns items per second, and microseconds of this process's CPU per item."""
    wall, cpu = time.perf_counter(), time.process_time()
    write(items)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return len(items) / wall, cpu / len(items) * 1e6


def compare(url: str, rounds: int, count: int, parallel: int) -> Seen:
    """Per round: rate and CPU per item of boto3, and of the store."""
    sides = (batch_writer(url), store(url, parallel))
    seen = []
    for number in range(rounds + 1):
        order = (0, 1) if number % 2 else (1, 0)
        result = {side: measure_write(sides[side], messages(next(BATCHES) * count, count)) for side in order}
        if number:  # the first round warms up
            seen.append((result[0], result[1]))
    return seen


def report(title: str, seen: Seen, aims: tuple[str, str]) -> list[Series]:
    """Print two rows of the table; returns their numbers."""
    found = []
    rows: tuple[tuple[str, int, str, Better], ...] = (("items/s", 0, "", "higher"), ("CPU per item", 1, "µs", "lower"))
    for (what, at, unit, better), aim in zip(rows, aims, strict=True):
        theirs, ours = ([each[side][at] for each in seen] for side in (0, 1))
        against = ratio(f"{what} against batch_writer(), {title}", ours, theirs, better)
        figures = [figure(f"{what} of batch_writer(), {title}", theirs, unit), figure(f"{what}, {title}", ours, unit)]
        row(title, what, *(f"{each.median:,.0f} {unit}".strip() for each in figures), f"{against.median:.2f}×", aim)
        found += [against, *figures]
    return found


def measure(found: Database, rounds: int, count: int, parallel: int) -> list[Series]:
    create_table(found.client(), TABLE)
    with delayed(found.port, DELAY_MS / 1000) as slow:
        head("", "", "batch_writer()", "headrace", "ratio", "aim")
        series = report("without latency", compare(found.url, rounds, count, parallel), ("–", "≤ 0.5×"))
        late = compare(f"http://127.0.0.1:{slow}", rounds, count, parallel)
        return series + report(f"{DELAY_MS} ms of latency", late, ("≥ 3×", "≤ 0.5×"))


def main(rounds: int, items: int, parallel: int) -> list[Series]:
    with database() as found:
        print(f"Medians of {rounds} rounds of {items:,} items each, in the same table; {parallel} calls at once.\n")
        return measure(found, rounds, items, parallel)


if __name__ == "__main__":
    command(__doc__, main, 9, items=2000, parallel=8)
