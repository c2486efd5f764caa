"""Throttles writes as DynamoDB does with tables on demand: per table, per index, and per value of their partition keys.

A write takes one unit per KB of the item from its table, and one per KB of what an index projects from each index that
has the item. A partition takes 1,000 units a second. A new on-demand table, and each of its indexes, takes 4,000, and
keeps what it does not use for up to five minutes (AWS: "Burst and adaptive capacity", "Warm throughput"). What one of
them cannot take is not written at all: a hot index throttles its table.

An update or a deletion takes one unit of the table. An item that replaces an equal one takes as much as a new one,
where DynamoDB writes no index. Reads are not throttled.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from faults.proxies.http_proxy import Call, Forward, answer
from headrace.core.items import from_wire, size_of

PARTITION_UNITS = 1_000.0
TABLE_UNITS = 4_000.0
BURST_SECONDS = 300.0
KB = 1024

REFUSAL = {
    "__type": "com.amazon.coral.availability#ThrottlingException",
    "message": "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your "
    "table or index so please try again shortly.",
}

Item = Mapping[str, Mapping[str, Any]]
"""Attributes as DynamoDB JSON."""
Lacking = tuple[str, str]
"""The ARN of the table or index that has too few units, and DynamoDB's name of the limit."""


@dataclass
class Bucket:
    """Write units: ``rate`` a second, of which ``seconds`` are kept; one second's are there at the start."""

    rate: float
    seconds: float
    now: float
    left: float = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.rate

    def refill(self, now: float) -> None:
        """Add what came since the last call."""
        self.left = min(self.left + (now - self.now) * self.rate, self.rate * self.seconds)
        self.now = now


@dataclass(frozen=True)
class Target:
    """A table or one of its indexes: ``attributes`` are those that it has of an item, or empty for all."""

    arn: str
    kind: str
    keys: tuple[str, ...]
    partition_key: str
    attributes: frozenset[str] = frozenset()

    def units(self, item: Item) -> int:
        """The write units of ``item``, 0 if it is not in this index."""
        if not all(key in item for key in self.keys):
            return 0
        kept = {name: value for name, value in item.items() if not self.attributes or name in self.attributes}
        return -(-size_of(from_wire(kept)) // KB)


class Throttled:
    """A fault of a proxy: the tables, as DescribeTable describes them, take no more than DynamoDB's.

    ``unprocessed`` counts items that were not written, ``written`` those that were.
    """

    def __init__(
        self,
        tables: Sequence[Mapping[str, Any]],
        *,
        partition_units: float = PARTITION_UNITS,
        table_units: float = TABLE_UNITS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._targets = {table["TableName"]: list(_targets(table)) for table in tables}
        self._partition_units = partition_units
        self._table_units = table_units
        self._monotonic = monotonic
        self._buckets: dict[tuple[str, str], Bucket] = {}
        self.unprocessed = 0
        self.written = 0

    async def __call__(self, call: Call, forward: Forward) -> web.Response:
        if call.action == "BatchWriteItem":
            return await self._batch(call.body, forward)
        if call.action in ("PutItem", "UpdateItem", "DeleteItem"):
            body = json.loads(call.body)
            lacking = self._take(body["TableName"], body.get("Item") or body["Key"])
            if lacking is not None:
                return _refusal(lacking)
        return await forward(call.body)

    async def _batch(self, body: bytes, forward: Forward) -> web.Response:
        taken: dict[str, list[Any]] = {}
        left: dict[str, list[Any]] = {}
        first: Lacking | None = None
        request = json.loads(body)
        for table, writes in request["RequestItems"].items():
            for write in writes:
                item = write["PutRequest"]["Item"] if "PutRequest" in write else write["DeleteRequest"]["Key"]
                lacking = self._take(table, item)
                (taken if lacking is None else left).setdefault(table, []).append(write)
                first = first or lacking
        self.written += sum(map(len, taken.values()))
        self.unprocessed += sum(map(len, left.values()))
        if first is None:
            return await forward(body)
        if not taken:
            return _refusal(first)
        written = await forward(json.dumps({**request, "RequestItems": taken}).encode())
        if written.status != 200 or not isinstance(written.body, bytes):
            return written
        content = json.loads(written.body)
        for table, writes in content.get("UnprocessedItems", {}).items():
            left.setdefault(table, []).extend(writes)
        return answer({**content, "UnprocessedItems": left})

    def _take(self, table: str, item: Item) -> Lacking | None:
        """Take the units of one write from every bucket; or from none, if one has too few."""
        wanted: list[tuple[Bucket, int]] = []
        for target in self._targets.get(table, ()):
            units = target.units(item)
            if not units:
                continue
            value = json.dumps(item[target.partition_key], sort_keys=True)
            whole = self._bucket((target.arn, ""), self._table_units, BURST_SECONDS)
            partition = self._bucket((target.arn, value), self._partition_units, 1.0)
            for bucket in (whole, partition):
                if bucket.left < units:
                    return target.arn, f"{target.kind}WriteKeyRangeThroughputExceeded"
                wanted.append((bucket, units))
        for bucket, units in wanted:
            bucket.left -= units
        return None

    def _bucket(self, name: tuple[str, str], rate: float, seconds: float) -> Bucket:
        now = self._monotonic()
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = self._buckets[name] = Bucket(rate, seconds, now)
        bucket.refill(now)
        return bucket


def _refusal(lacking: Lacking) -> web.Response:
    arn, reason = lacking
    return answer({**REFUSAL, "throttlingReasons": [{"reason": reason, "resource": arn}]}, 400)


def _targets(table: Mapping[str, Any]) -> Iterator[Target]:
    own = tuple(key["AttributeName"] for key in table["KeySchema"])
    arn = table.get("TableArn") or f"arn:aws:dynamodb:us-east-1:000000000000:table/{table['TableName']}"
    yield Target(arn, "Table", own[:1], own[0])
    for index in table.get("GlobalSecondaryIndexes", ()):
        keys = tuple(key["AttributeName"] for key in index["KeySchema"])
        projection = index["Projection"]
        attributes = {*own, *keys, *projection.get("NonKeyAttributes", ())}
        everything = projection["ProjectionType"] == "ALL"
        name = f"{arn}/index/{index['IndexName']}"
        yield Target(name, "Index", keys, keys[0], frozenset() if everything else frozenset(attributes))
