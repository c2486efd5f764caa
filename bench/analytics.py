"""Compares analytics with a plain scatter-gather over all items: ``python -m bench.analytics``.

Starts its own dynalite (data in memory) and Redis. It counts messages over 60 minutes (once per ``--sizes``) and over
24 hours (``--day``), evenly from 17,000 users in 20 rooms. Headrace's side is the whole function, from the event to the
answer. The clock is set by the benchmark, so it needs no waiting for the next minute. The scatter-gather is boto3's
``client.query`` on all time shards in parallel, with all pages, as its documentation shows it, and Python's
``Counter``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from bench.counted import HOUR_START, MINUTE, ROOMS, SHARDS, TABLE, USERS, fill, make_table, messages
from bench.emulators import candidates, client, free_port
from bench.emulators import running as started
from bench.history import redis
from bench.slots import slot_costs

DAY_START = HOUR_START - 30 * 1440 * MINUTE
SETTLE = 10
LATER_WINDOWS = 10
"""Windows that are each a minute later: ten minutes complete a longer slot, which makes one of them slower."""


class LambdaContext:
    """The context of an invocation with enough time left."""

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 100_000_000


class Environment:
    """An execution environment of read_analytics. All of them share a clock and a cache."""

    def __init__(self, clock: Any, cache_port: int) -> None:
        from headrace.analytics.requests import TopQuery, filtered
        from headrace.analytics.routes import StreamAnalytics, window
        from headrace.analytics.scanner import Scanner
        from headrace.analytics.windows import Analytics
        from headrace.api.router import HttpRouter, Route
        from headrace.core.times import SystemClock
        from headrace.runtime.settings import CacheSettings
        from headrace.storage.dynamodb.readers import DynamoColumns, columns_client
        from headrace.storage.redis import RedisCache, connect
        from headrace.streams.chat.stream import CHAT

        settings = CacheSettings(cache_endpoint=f"127.0.0.1:{cache_port}", cache_tls=False)
        # A long timeout: other work on this machine must not turn a hit into a miss.
        cache = RedisCache(lambda: connect(settings, 5.0))
        reader = DynamoColumns(columns_client(SHARDS))
        self.analytics = Analytics(Scanner(reader, TABLE, SHARDS, clock, SHARDS), cache, clock, SETTLE)
        routes = {"GET /analytics/window": Route(window, query=filtered(TopQuery, CHAT))}
        self.router = HttpRouter(routes, lambda: StreamAnalytics(CHAT, self.analytics), SystemClock())

    def ask(self, start: int, end: int) -> tuple[float, float, dict[str, Any]]:
        """Request a window; returns milliseconds, read units and the answer."""
        from headrace.core import times

        claims = {"sub": "bench", "scope": "analytics:read", "exp": "4102444800"}
        event = {
            "routeKey": "GET /analytics/window",
            "requestContext": {"requestId": "r-1", "authorizer": {"jwt": {"claims": claims}}},
            "queryStringParameters": {"from": times.iso(start), "to": times.iso(end)},
        }
        units, began = self.analytics.units, time.perf_counter()
        answer = self.router(event, LambdaContext)
        took = (time.perf_counter() - began) * 1000
        if answer["statusCode"] != 200:
            raise SystemExit(answer["body"])
        return took, self.analytics.units - units, json.loads(answer["body"])


class ManualClock:
    """A clock that stands until it is set; ``micros`` since the epoch."""

    def __init__(self, micros: int) -> None:
        self.micros = micros

    def now(self) -> int:
        return self.micros


class BenchWorld:
    """The table, the cache and the clock."""

    def __init__(self, port: int, cache_port: int) -> None:
        self.port = port
        self.cache_port = cache_port
        self.clock = ManualClock(HOUR_START + 60 * MINUTE + (SETTLE + 1) * 1_000_000)

    def environment(self) -> Environment:
        """A new environment."""
        return Environment(self.clock, self.cache_port)

    def empty_cache(self) -> None:
        """Empty the cache, except for the generations of the slots."""
        from redis import Redis

        from headrace.analytics import generations

        cache = Redis(port=self.cache_port)
        cache.flushall()
        for number in range(generations.SLOT_GROUPS):
            cache.set(generations.slot_group(number), "0")
        cache.close()

    def cache_bytes(self) -> int:
        """The size of the cached data in bytes."""
        from redis import Redis

        with Redis(port=self.cache_port) as cache:
            return int(cache.info("memory")["used_memory_dataset"])

    def scatter_gather(self, start: int, end: int) -> tuple[float, float, int]:
        """Count a window with Query calls; returns milliseconds, read units and the total."""
        from headrace.core import keys, times

        # boto3's retries stay on: the emulator closes idle connections while this process parses pages.
        database = boto3.client("dynamodb", config=Config(max_pool_connections=SHARDS))
        users: Counter[str] = Counter()
        rooms: Counter[str] = Counter()

        def read(shard: str) -> tuple[list[dict[str, Any]], float]:
            found: list[dict[str, Any]] = []
            more: dict[str, Any] = {}
            units = 0.0
            while True:
                page = database.query(
                    TableName=TABLE,
                    IndexName="TimeIndex",
                    KeyConditionExpression="bucketId = :shard AND timestampSk BETWEEN :from AND :to",
                    ExpressionAttributeValues={
                        ":shard": {"S": shard},
                        ":from": {"S": times.iso(start)},
                        ":to": {"S": times.iso(end)},
                    },
                    ReturnConsumedCapacity="TOTAL",
                    **more,
                )
                found += page["Items"]
                units += page["ConsumedCapacity"]["CapacityUnits"]
                if "LastEvaluatedKey" not in page:
                    return found, units
                more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

        began = time.perf_counter()
        total = 0
        units = 0.0
        with ThreadPoolExecutor(SHARDS) as pool:
            for items, cost in pool.map(read, keys.shard_names(SHARDS)):
                total += len(items)
                units += cost
                users.update(item["userId"]["S"] for item in items)
                rooms.update(item["roomId"]["S"] for item in items)
        users.most_common(10), rooms.most_common(10), len(users)
        return (time.perf_counter() - began) * 1000, units, total


def row(what: str, milliseconds: float, units: float, aim: str) -> None:
    print(f"| {what} | {milliseconds:,.1f} ms | {units:,.1f} | {aim} |", flush=True)


def repeat(ask: Callable[[], tuple[float, float, Any]], times: int) -> tuple[float, float, Any]:
    """Call ``ask`` several times; returns the median of the milliseconds, and units and answer of the last call."""
    seen = [ask() for _ in range(times)]
    return statistics.median(each[0] for each in seen), seen[-1][1], seen[-1][2]


def measure_hour(world: BenchWorld, count: int, calls: int) -> None:
    start, end = HOUR_START, HOUR_START + 60 * MINUTE
    world.clock.micros = end + (SETTLE + 1) * 1_000_000
    print(f"\n{count:,} messages over 60 minutes, {USERS:,} users, {ROOMS} rooms\n")
    print("| one window over all 60 minutes | p50 | read units | aim |\n| --- | --- | --- | --- |")
    world.environment().ask(start, start + 1_000_000)  # warms up the emulator and this process
    scatter_gather, units, total = repeat(lambda: world.scatter_gather(start, end), 2)
    row("plain scatter-gather over all items", scatter_gather, units, "–")
    world.empty_cache()
    environment = world.environment()
    cold, units, answer = environment.ask(start, end)
    if not answer["totalMessages"] == total == count:
        raise SystemExit(f"{answer['totalMessages']} and {total} are not {count}")
    row("cold", cold, units, "–")
    again, units, same = repeat(lambda: environment.ask(start, end), calls)
    if {**same, "asOf": 0, "missing": 0} != {**answer, "asOf": 0, "missing": 0}:
        raise SystemExit("the repeated request has a different answer")
    row("repeated in the same minute", again, units, "≤ 15 ms")
    other, units, _ = repeat(lambda: world.environment().ask(start, end), calls // 4)
    row("repeated in a new environment", other, units, "–")
    late = []
    for number in range(1, LATER_WINDOWS + 1):
        world.clock.micros += MINUTE
        late.append(environment.ask(start + number * MINUTE, end + number * MINUTE))
    row(
        "a window that is one minute later",
        statistics.median(each[0] for each in late),
        late[-1][1],
        "≤ 80 ms" if count <= 200_000 else "≤ 250 ms",
    )
    slowest, units, _ = max(late, key=lambda each: each[0])
    row("the slowest of ten such windows: ten minutes are merged into one slot", slowest, units, "–")
    live, units, _ = repeat(lambda: environment.ask(start + 30_000_000, world.clock.now()), max(3, calls // 10))
    row("until now, from the middle of a minute: two live edges", live, units, "–")
    print(f"\nScatter-gather takes {scatter_gather / again:,.0f}× as long as a repeated request (aim ≥ 100×).")
    print(f"The cache holds {world.cache_bytes() / 1e6:.1f} MB.")


def measure_day(world: BenchWorld, count: int, calls: int) -> None:
    start, end = DAY_START, DAY_START + 1440 * MINUTE
    print(f"\n{count:,} messages over 24 hours\n")
    print("| one window over all 24 hours | p50 | read units | aim |\n| --- | --- | --- | --- |")
    world.empty_cache()
    environment = world.environment()
    cold, units, answer = environment.ask(start, end)
    if answer["totalMessages"] != count:
        raise SystemExit(f"{answer['totalMessages']} is not {count}")
    row("cold", cold, units, "–")
    again, units, _ = repeat(lambda: environment.ask(start, end), calls)
    row("warm", again, units, "≤ 250 ms")
    other, units, _ = repeat(lambda: world.environment().ask(start, end), max(3, calls // 10))
    row("warm, in a new environment", other, units, "≤ 250 ms")
    print(f"\nThe cache holds {world.cache_bytes() / 1e6:.1f} MB.")


def main(sizes: list[int], day: int, calls: int) -> None:
    emulator = next(each for each in candidates() if each.name == "dynalite, memory")
    # Millions of rows in the emulator's memory.
    os.environ.setdefault("NODE_OPTIONS", "--max-old-space-size=12000")
    os.environ["POWERTOOLS_METRICS_DISABLED"] = "true"
    import headrace.analytics.routes  # noqa: F401 - early: the code may be edited during a long run

    slot_costs()
    for case in [*sizes, None] if day else sizes:
        port = free_port()
        os.environ.update(
            AWS_DEFAULT_REGION="us-east-1",
            AWS_ACCESS_KEY_ID="bench",
            AWS_SECRET_ACCESS_KEY="bench",
            AWS_EC2_METADATA_DISABLED="true",
            AWS_ENDPOINT_URL_DYNAMODB=f"http://127.0.0.1:{port}",
            CACHE_ENDPOINT="127.0.0.1:1",
        )
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / "data"
            data.mkdir()
            with started(emulator, port, data), redis(data) as cache_port:
                world = BenchWorld(port, cache_port)
                make_table(client("dynamodb", port))
                began = time.monotonic()
                if case is None:
                    fill(messages(DAY_START, 1440 * MINUTE, day, 2))
                else:
                    # Also messages of the minutes by which the window moves, and of two more.
                    more = LATER_WINDOWS + 2
                    fill(messages(HOUR_START, 60 * MINUTE, case, 0))
                    fill(messages(HOUR_START + 60 * MINUTE, more * MINUTE, case * more // 60, 1))
                print(f"\n(written in {time.monotonic() - began:.0f} s)", file=sys.stderr)
                if case is None:
                    measure_day(world, day, calls)
                else:
                    measure_hour(world, case, calls)


def _sizes(text: str) -> list[int]:
    try:
        return [int(size) for size in text.split(",") if size]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list such as 200000,1000000") from None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sizes", type=_sizes, default="200000,1000000", help="messages over 60 minutes, separated by commas"
    )
    parser.add_argument(
        "--day", type=int, default=1_000_000, help="messages over 24 hours; 0 leaves this measurement out"
    )
    parser.add_argument("--calls", type=int, default=40)
    options = parser.parse_args()
    main(options.sizes, options.day, options.calls)
