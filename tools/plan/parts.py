"""The parts of a stage that a rate of events can fill, with their limits.

CPU of functions is what ``tools/cost/model.py`` assumes, and that of the broker what ``make bench BENCH=singles``
measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.features.ads.stream import AD_SHARDS
from headrace.streams.chat.room_shards import COUNTS
from tools.cost.model import (
    CACHE_UNITS,
    KB,
    PERSIST_EVENT_SECONDS,
    PERSIST_SECONDS,
    RECEIVE_EVENT_SECONDS,
    RECEIVE_SECONDS,
    RECORDS,
    SCALED_USE,
    Load,
    events_per_invocation,
    row_of,
)
from tools.cost.stage import ON_DEMAND_UNITS, Stage

BROKER_SECONDS = 0.00029
"""CPU of RabbitMQ for a record of at most ``RECORD_BYTES``, from publishing to acknowledging (``make bench
BENCH=singles``, 2026-11-24, ``ef2359d``). Each node of a cluster writes each record."""
RECORD_BYTES = 6_800
"""A larger record counts as several."""
CORES = {"mq.m7g.medium": 1, "mq.m7g.large": 2, "mq.m7g.xlarge": 4, "mq.m7g.2xlarge": 8}
LARGEST = "mq.m7g.2xlarge"
MOST_BROKERS = 2
ACCOUNT_REQUESTS = 10_000
ACCOUNT_ENVIRONMENTS = 1_000
PARTITION_UNITS = 1_000
TABLE_UNITS = 40_000
ACCOUNT_UNITS = 80_000
"""Provisioned write units of all tables and indexes of an account in a Region."""
CACHE_COMMANDS = 30_000
MOST_QUEUES = MOST_SHARDS = 64

PARTITION = "DynamoDB, partition keys"
PAGES = {
    "API Gateway, quotas": "docs.aws.amazon.com/apigateway/latest/developerguide/limits.html",
    "Lambda, quotas": "docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html",
    "ElastiCache, scaling": "docs.aws.amazon.com/AmazonElastiCache/latest/dg/Scaling.html",
    "DynamoDB, warm throughput": "docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html",
    "DynamoDB, quotas": "docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html",
    PARTITION: "docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html",
}
"""The pages of AWS that sources name."""


@dataclass(frozen=True)
class Part:
    """A part that has ``limit`` of a ``unit``, and needs ``used`` of it. ``moved_by`` says what raises the limit."""

    name: str
    used: float
    limit: float
    unit: str
    moved_by: str
    source: str

    @property
    def use(self) -> float:
        """The used share of the limit."""
        return self.used / self.limit


def parts(load: Load, stage: Stage, hot: float) -> list[Part]:
    """Every part, the fullest first. ``hot`` is the share of events in the busiest room, resort's day or ad."""
    found = [*_requests(load, stage), broker(load, stage), *_persisting(load, stage), *_tables(load, stage, hot)]
    return sorted(found, key=lambda part: -part.use)


def _requests(load: Load, stage: Stage) -> Iterator[Part]:
    requests = load.rate / load.batch
    name = "BatchRate" if load.http and load.batch > 1 else "RouteRate"
    yield Part("API Gateway, the route", requests, float(stage.values[name]), "requests/s", name, "template.yaml")
    quotas = "API Gateway, quotas"
    yield Part("API Gateway, the account", requests, ACCOUNT_REQUESTS, "requests/s", "its quota", quotas)
    name = "ReceiveHttpConcurrency" if load.http else "ReceiveFrameConcurrency"
    busy = requests * (RECEIVE_SECONDS + RECEIVE_EVENT_SECONDS * load.batch)
    yield Part("receiving functions", busy, float(stage.values[name]), "environments", name, "tools/cost/model.py")
    both = busy + stage.brokers * sum(stage.queues.values())
    quotas = "Lambda, quotas"
    yield Part("Lambda, the account", both, ACCOUNT_ENVIRONMENTS, "environments", "its quota", quotas)


def broker(load: Load, stage: Stage) -> Part:
    """RabbitMQ, by the CPU of its records: one node of each broker."""
    cores = CORES[stage.instance] * stage.brokers
    larger = ["BrokerInstanceType"] if stage.instance != LARGEST else []
    more = ["BrokerCount"] if stage.brokers < MOST_BROKERS else []
    moved_by = ", ".join(larger + more) or f"nothing: {MOST_BROKERS} brokers end here"
    pieces = max(1.0, load.batch * load.event_bytes / RECORD_BYTES)
    busy = load.rate / load.batch * pieces * BROKER_SECONDS
    return Part("broker, CPU of a node", busy, cores, "cores", moved_by, "docs/benchmarks.md, Single events")


def _persisting(load: Load, stage: Stage) -> Iterator[Part]:
    queues, most = stage.queues[load.stream], RECORDS * load.batch
    name = f"{load.stream.capitalize()}Queues"
    a_queue = stage.brokers * most / (PERSIST_SECONDS + PERSIST_EVENT_SECONDS * most)
    moved_by = name if queues < MOST_QUEUES else f"nothing: {name} is at most {MOST_QUEUES}"
    yield Part("persist queues", load.rate, queues * a_queue, "events/s", moved_by, "tools/cost/model.py")
    calls = load.rate / load.batch + load.rate / events_per_invocation(load, queues, load.window)
    quotas = "ElastiCache, scaling"
    moved_by = "time: it doubles in 3 minutes"
    yield Part("cache", calls * CACHE_UNITS, CACHE_COMMANDS, "ECPU/s at once", moved_by, quotas)


def _tables(load: Load, stage: Stage, hot: float) -> Iterator[Part]:
    row = row_of(load.event_bytes, load.stream)
    units = math.ceil(row.table / KB)
    warm = max(ON_DEMAND_UNITS, int(stage.values["WarmWriteUnits"]))
    written = load.rate * units
    if stage.minimum_units:
        most, scaling = int(stage.values["MaximumTableUnits"]) * SCALED_USE, "templates/scaling.yaml"
        yield Part("table, provisioned", written, most, "write units/s", "MaximumTableUnits", scaling)
        needed = [max(stage.minimum_units, load.rate * each / SCALED_USE) for each in row.units]
        together = sum(needed) + (stage.scaled - len(needed)) * stage.minimum_units
        name, source = "provisioned tables, the account", "DynamoDB, quotas"
        yield Part(name, together, ACCOUNT_UNITS, "write units/s", "its quota", source)
    else:
        source = "DynamoDB, warm throughput"
        yield Part("table, at once", written, warm, "write units/s", "WarmWriteUnits; it grows with time", source)
    source = "DynamoDB, quotas"
    yield Part("table, the account", written, TABLE_UNITS, "write units/s", "its quota", source)
    shards, moved_by = int(stage.values["TimeShardsWritten"]), _time_shards(stage)
    if load.stream == "chat":
        yield _sharded("time shards", load.rate, shards, moved_by)
        busiest = load.rate * hot * units
        most = max(COUNTS.values())
        of_a_room = next((count for count in COUNTS.values() if busiest <= count * PARTITION_UNITS), most)
        moved_by = f"{of_a_room} shards: a new room, its id ends in ~{of_a_room}"
        yield Part("the busiest room", busiest, PARTITION_UNITS, "write units/s", moved_by, PARTITION)
    elif load.stream == "ski":
        yield _sharded("the busiest resort's day", load.rate * hot, shards, moved_by)
    else:
        yield _sharded("time shards", load.rate, shards, moved_by)
        yield _sharded("the busiest ad", load.rate * hot, AD_SHARDS.write, "AD_SHARDS in features/ads/stream.py")


def _time_shards(stage: Stage) -> str:
    """What raises the number of time shards of a stage: first that which is read."""
    written, read = (int(stage.values[f"TimeShards{kind}"]) for kind in ("Written", "Read"))
    if written < read:
        return "TimeShardsWritten"
    return "TimeShardsRead, then TimeShardsWritten" if read < MOST_SHARDS else f"nothing: {MOST_SHARDS} are the most"


def _sharded(name: str, rate: float, shards: int, moved_by: str) -> Part:
    return Part(name, rate / shards, PARTITION_UNITS, "write units/s", moved_by, PARTITION)
