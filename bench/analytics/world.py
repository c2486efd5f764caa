"""The table, the cache, the clock and the environments of the benchmark of analytics."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
from botocore.config import Config

from bench.requests import answer_of, http_event
from bench.rows import CHAT_KEY, Row, chat_row
from bench.services import redis_cache

TABLE, SHARDS, SETTLE = "ChatMessages", 8, 10
ROOMS, USERS = 20, 17_000
MINUTE = 60_000_000
INDEXED = (*CHAT_KEY, "bucketId", "userId", "expiresAt")
"""The attributes in the index: the others are not read, and would only take time to write."""
HOUR_START = 1_763_716_020_000_000
"""09:07 instead of a whole hour, so that a window consists of slots of several lengths."""


def messages(start: int, micros: int, count: int, seed: int) -> Iterator[Row]:
    """The indexed attributes of ``count`` messages, evenly spread over ``micros`` microseconds from ``start``."""
    chance = random.Random(seed)
    for number in range(count):
        room, user, message_id = (
            f"room-{chance.randrange(ROOMS)}", chance.randrange(USERS), f"0199{chance.getrandbits(112):028x}"
        )  # fmt: skip
        at = start + number * micros // count
        message = chat_row(room, number, at, user=user, message_id=message_id, shards=SHARDS)
        yield {name: message[name] for name in INDEXED}


class Environment:
    """An execution environment of read_analytics, or of another ``stream``. All of them share a clock and a cache."""

    def __init__(
        self, clock: Any, cache_port: int, stream: Any = None, table: str = TABLE, adapted: Any = None
    ) -> None:
        from headrace.api.router import Api, Route, http_handler
        from headrace.core.times import SystemClock
        from headrace.features.analytics.requests import TopQuery, filtered
        from headrace.features.analytics.scanner import Scanner
        from headrace.features.analytics.windows import Analytics, window
        from headrace.storage.dynamodb.readers import DynamoColumns, columns_client
        from headrace.streams.chat.stream import CHAT

        stream, reader = stream or CHAT, DynamoColumns(columns_client(SHARDS))
        scanner = Scanner(adapted(reader) if adapted else reader, table, clock, SHARDS)
        self.analytics = Analytics(stream, scanner, redis_cache(cache_port), clock)
        routes = {"GET /analytics/window": Route(window, query=filtered(TopQuery, stream))}
        self.router = http_handler(Api(routes, lambda: self.analytics, SystemClock()))

    def ask(self, start: int, end: int) -> tuple[float, float, dict[str, Any]]:
        """Request a window; returns milliseconds, read units and the answer."""
        from headrace.core import times

        window = {"from": times.iso(start), "to": times.iso(end)}
        event = http_event("GET /analytics/window", "analytics:read", window)
        units, began = self.analytics.scanner.units, time.perf_counter()
        answer = answer_of(self.router, event)
        return (time.perf_counter() - began) * 1000, self.analytics.scanner.units - units, answer


class ManualClock:
    """A clock that stands until it is set; ``micros`` since the epoch."""

    def __init__(self, micros: int) -> None:
        self.micros = micros

    def now(self) -> int:
        return self.micros


def empty_cache(port: int) -> None:
    """Empty the cache, except for the generations of slots: without them no slot may be kept."""
    from redis import Redis

    from headrace.features.analytics import generations

    with Redis(port=port) as cache:
        cache.flushall()
        for number in range(generations.SLOT_GROUPS):
            cache.set(generations.slot_group(number), "0")


class BenchWorld:
    """The table, the cache and the clock."""

    def __init__(self, cache_port: int) -> None:
        self.cache_port = cache_port
        self.clock = ManualClock(HOUR_START + 60 * MINUTE + (SETTLE + 1) * 1_000_000)

    def environment(self) -> Environment:
        """A new environment."""
        return Environment(self.clock, self.cache_port)

    def scatter_gather(self, start: int, end: int) -> tuple[float, float, int]:
        """Count a window with Query calls; returns milliseconds, read units and the total."""
        from headrace.core import keys, times

        # boto3's retries stay on: the emulator closes idle connections while this process parses pages.
        database = boto3.client("dynamodb", config=Config(max_pool_connections=SHARDS))
        users: Counter[str] = Counter()
        rooms: Counter[str] = Counter()

        def read(shard: str) -> tuple[list[dict[str, Any]], float]:
            found: list[dict[str, Any]] = []
            units = 0.0
            for page in database.get_paginator("query").paginate(
                TableName=TABLE,
                IndexName="TimeIndex",
                KeyConditionExpression="bucketId = :shard AND timestampSk BETWEEN :from AND :to",
                ExpressionAttributeValues={
                    ":shard": {"S": shard},
                    ":from": {"S": times.iso(start)},
                    ":to": {"S": times.iso(end)},
                },
                ReturnConsumedCapacity="TOTAL",
            ):
                found += page["Items"]
                units += page["ConsumedCapacity"]["CapacityUnits"]
            return found, units

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
