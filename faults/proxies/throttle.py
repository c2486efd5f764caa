"""Tables that refuse some rows of a call, as DynamoDB does when a partition has too few write units."""

from __future__ import annotations

import json
import random
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from itertools import compress
from typing import Any

from aiohttp import web

from faults.proxies.http_proxy import Call, Forward, answer
from headrace.core.items import size_of
from headrace.storage.dynamodb.client import from_wire

WRITES = "BatchExecuteStatement"
"""The calls that store rows."""
_NOTHING = answer({"Responses": []})
_INSERT = re.compile(r'INSERT INTO "(.+)" VALUE {(.+)}')


def row_of(statement: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The table and the row of a statement that inserts one."""
    ((table, names),) = _INSERT.findall(statement["Statement"])
    return table, dict(zip(re.findall(r"'([^']+)'", names), statement["Parameters"], strict=True))


class SomeRefused(ABC):
    """A fault of a proxy: rows that :meth:`takes` takes are ``written``, the others ``refused`` with an error each."""

    code: str
    """The error of a row, by its name in answers to statements."""

    def __init__(self) -> None:
        self.refused = 0
        self.written = 0

    @abstractmethod
    def takes(self, table: str, row: Mapping[str, Any]) -> bool:
        """Whether a row is stored now."""

    async def __call__(self, call: Call, forward: Forward) -> web.Response:
        if call.action != WRITES:
            return await forward(call.body)
        request = json.loads(call.body)
        taken = [self.takes(*row_of(statement)) for statement in request["Statements"]]
        kept = list(compress(request["Statements"], taken))
        self.written += len(kept)
        self.refused += len(taken) - len(kept)
        stored = await forward(json.dumps({**request, "Statements": kept}).encode()) if kept else _NOTHING
        if stored.status != 200:
            return stored
        answers = iter(json.loads(str(stored.text))["Responses"])
        error = {"Error": {"Code": self.code, "Message": "refused by the test"}}
        return answer({"Responses": [next(answers) if is_taken else error for is_taken in taken]})


class Throttled(SomeRefused):
    """Each room of a table takes ``units`` a second: one for each KB of a row. One second's are there at the start.

    On AWS a partition takes 1,000.
    """

    code = "ThrottlingError"

    def __init__(self, units: float) -> None:
        super().__init__()
        self._units = units
        self._left: dict[tuple[str, str], tuple[float, float]] = {}
        """The units that a room has, and since when."""

    def takes(self, table: str, row: Mapping[str, Any]) -> bool:
        """Whether the room has units for the row."""
        room, now = (table, row["roomId"]["S"]), time.monotonic()
        left, since = self._left.get(room, (self._units, now))
        left = min(self._units, left + (now - since) * self._units)
        cost = -(-size_of(from_wire(row)) // 1024)
        self._left[room] = (left - cost if cost <= left else left, now)
        return cost <= left


class HalfThrottled(SomeRefused):
    """Throttles a random half of all rows, and refuses one call in ten."""

    code = "ProvisionedThroughputExceeded"

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)

    def takes(self, _table: str, _row: Mapping[str, Any]) -> bool:
        """Whether chance takes the row."""
        return self._random.random() < 0.5

    async def __call__(self, call: Call, forward: Forward) -> web.Response:
        if call.action == WRITES and self._random.random() < 0.1:
            return answer({"__type": "dynamodb#ProvisionedThroughputExceededException", "message": "too much"}, 400)
        return await super().__call__(call, forward)
