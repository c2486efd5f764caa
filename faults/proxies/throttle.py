"""Tables that leave writes unprocessed, as DynamoDB does when a partition has too few write units."""

from __future__ import annotations

import json
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web

from faults.proxies.http_proxy import Call, Forward, answer
from headrace.core.items import size_of
from headrace.storage.dynamodb.client import from_wire

KB = 1024


class Unprocessed(ABC):
    """A fault of a proxy: a BatchWriteItem writes the items that :meth:`takes` takes, and is refused if it takes none.

    ``unprocessed`` counts items that were not written, ``written`` those that were.
    """

    code: str
    """The error's name of a refused call."""

    def __init__(self) -> None:
        self.unprocessed = 0
        self.written = 0

    @abstractmethod
    def takes(self, table: str, item: Mapping[str, Any]) -> bool:
        """Whether an item, or the key of one to delete, is written now."""

    async def __call__(self, call: Call, forward: Forward) -> web.Response:
        if call.action != "BatchWriteItem":
            return await forward(call.body)
        taken: dict[str, list[Any]] = {}
        left: dict[str, list[Any]] = {}
        request = json.loads(call.body)
        for table, writes in request["RequestItems"].items():
            for write in writes:
                item = write["PutRequest"]["Item"] if "PutRequest" in write else write["DeleteRequest"]["Key"]
                (taken if self.takes(table, item) else left).setdefault(table, []).append(write)
        self.written += sum(map(len, taken.values()))
        self.unprocessed += sum(map(len, left.values()))
        if not taken:
            return refused(self.code)
        written = await forward(json.dumps({**request, "RequestItems": taken}).encode())
        return answer({"UnprocessedItems": left}) if written.status == 200 else written


class Throttled(Unprocessed):
    """Each room of a table takes ``units`` a second: one for each KB of an item. One second's are there at the start.

    On AWS a partition takes 1,000.
    """

    code = "com.amazon.coral.availability#ThrottlingException"

    def __init__(self, units: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._units = units
        self._monotonic = monotonic
        self._left: dict[tuple[str, str], tuple[float, float]] = {}
        """The units that a room has, and since when."""

    def takes(self, table: str, item: Mapping[str, Any]) -> bool:
        """Whether the room has units for the item."""
        room, now = (table, item["roomId"]["S"]), self._monotonic()
        left, since = self._left.get(room, (self._units, now))
        left = min(self._units, left + (now - since) * self._units)
        cost = -(-size_of(from_wire(item)) // KB)
        self._left[room] = (left - cost if cost <= left else left, now)
        return cost <= left


class HalfThrottled(Unprocessed):
    """Leaves a random half of all items unprocessed, and refuses one call in ten, as DynamoDB does when none fits."""

    code = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    def takes(self, _table: str, _item: Mapping[str, Any]) -> bool:
        """Whether chance takes the item."""
        return self._random.random() < 0.5

    async def __call__(self, call: Call, forward: Forward) -> web.Response:
        if call.action == "BatchWriteItem" and self._random.random() < 0.1:
            return refused(self.code)
        return await super().__call__(call, forward)


def refused(code: str) -> web.Response:
    """The answer to a call that DynamoDB refuses with the error ``code``."""
    return answer({"__type": code, "message": "too much"}, 400)
