"""Writes rows to DynamoDB with parallel calls of BatchWriteItem, and retries the rows that were not processed.

BatchWriteItem has no conditions. For an ``insert_only`` table, BatchGetItem looks up the keys before.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from headrace.core.collections import slices
from headrace.core.errors import PoisonRecord, StoreThrottled, StoreUnavailable
from headrace.core.items import Item
from headrace.runtime.aws import AwsClient, AwsError, call, client
from headrace.runtime.threads import Parallel
from headrace.storage.dynamodb.client import GET_LIMIT, THROTTLING_CODES, WRITE_LIMIT, from_wire, to_wire
from headrace.storage.dynamodb.direct import send_directly
from headrace.storage.ports import Failure, Key, Table, one_of_each

FIRST_WAIT = 0.05
LONGEST_WAIT = 1.0
LOOKED_UP = 8 * GET_LIMIT
"""Keys that are looked up before their rows are written."""
_INVALID_ITEM = {"ValidationException", "ItemCollectionSizeLimitExceededException"}
_THROTTLED = StoreThrottled("the table takes less than it is given")
_TRANSIENT = {"InternalServerError", "InternalFailure", "ServiceUnavailable", "TransactionInProgressException"}

Rows = dict[Key, dict[str, Any]]
"""Put requests, or keys, as DynamoDB JSON, by key."""


def writing_client(connections: int = 8) -> AwsClient:
    """A client for batches: more time for each than for single rows."""
    return client("dynamodb", timeout=3.0, attempts=2, connections=connections)


class DynamoStore:
    """Writes rows in batches: ``parallel`` calls at the same time, retries for ``retry_seconds``."""

    def __init__(self, dynamodb: AwsClient, parallel: int = 8, retry_seconds: float = 3.0) -> None:
        self._dynamodb = dynamodb
        send_directly(dynamodb)
        self._parallel = Parallel(parallel, "store")
        self._retry_seconds = retry_seconds

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Failure | None]:
        rows, keys = one_of_each(table, items)
        writes = _Writes(self._dynamodb, table, time.monotonic() + self._retry_seconds)
        failures = self._insert(table, rows, writes) if table.insert_only else self._run(writes, chunks(rows))
        return [failures.get(key) for key in keys]

    def _insert(self, table: Table, rows: Mapping[Key, Item], writes: _Writes) -> dict[Key, Failure]:
        """Write the rows that the table does not have; what failed, by key.

        A row that another writer stores between a lookup and the write is replaced. So few keys are looked up before
        their rows are written, and a row is not written when its key was read too long ago.
        """
        lookups = _Lookups(self._dynamodb, table, writes.deadline)
        failures: dict[Key, Failure] = {}
        for part in map(dict, slices(list(rows.items()), LOOKED_UP)):
            writes.begin_before = time.monotonic() + self._retry_seconds
            failures |= self._run(lookups, key_chunks(table, part))
            missing = {key: row for key, row in part.items() if key not in lookups.found and key not in failures}
            failures |= self._run(writes, chunks(missing))
        return failures

    def _run(self, calls: _Writes, groups: Sequence[Rows]) -> dict[Key, Failure]:
        return {key: failure for failed in self._parallel.map(calls.run, groups) for key, failure in failed.items()}


def chunks(rows: Mapping[Key, Item]) -> list[Rows]:
    """Put requests of ``rows`` in groups of at most 25.

    DynamoDB takes 16 MB at once. Events are small: only rows from envelopes of more than 640 KB could exceed it.
    """
    requests = [(key, {"PutRequest": {"Item": to_wire(row)}}) for key, row in rows.items()]
    return list(map(dict, slices(requests, WRITE_LIMIT)))


def key_chunks(table: Table, rows: Mapping[Key, Item]) -> list[Rows]:
    """The keys of ``rows`` in groups of at most 100."""
    keys = [(key, to_wire({name: row[name] for name in table.key})) for key, row in rows.items()]
    return list(map(dict, slices(keys, GET_LIMIT)))


class _Writes:
    """The calls of one ``put_many``. They share a deadline for retries, and all stop when the table is unavailable.

    No call begins after ``begin_before``.
    """

    def __init__(self, dynamodb: AwsClient, table: Table, deadline: float) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self.deadline = deadline
        self.begin_before = math.inf
        self._unavailable = threading.Event()

    def run(self, rows: Rows) -> dict[Key, Failure]:
        """Write one chunk; what failed, by key."""
        wait = FIRST_WAIT
        while True:
            if self._unavailable.is_set():
                return dict.fromkeys(rows, StoreUnavailable("the table is unavailable"))
            if time.monotonic() >= self.begin_before:
                return dict.fromkeys(rows, _THROTTLED)
            failure: Failure = _THROTTLED
            try:
                left = self._call(rows)
            except AwsError as error:
                if error.code in _INVALID_ITEM:
                    return self._isolate(rows, error.code)
                left = rows
                if error.code not in THROTTLING_CODES:
                    failure = StoreUnavailable(f"the table is unavailable: {error.code}")
                    if error.code not in _TRANSIENT:
                        self._unavailable.set()
                        return dict.fromkeys(rows, failure)
            if not left:
                return {}
            # Full jitter: chunks that were throttled together must not retry together.
            pause = random.uniform(0, wait)  # noqa: S311
            if time.monotonic() + pause >= self.deadline:
                return dict.fromkeys(left, failure)
            time.sleep(pause)
            rows, wait = left, min(wait * 2, LONGEST_WAIT)

    def _call(self, rows: Rows) -> Rows:
        """One BatchWriteItem; the rows that were not processed."""
        requests = {self._table.name: list(rows.values())}
        response = call(self._dynamodb.batch_write_item, expected=_INVALID_ITEM, RequestItems=requests)
        unprocessed = response.get("UnprocessedItems", {}).get(self._table.name, ())
        return {key: rows[key] for key in self._keys(request["PutRequest"]["Item"] for request in unprocessed)}

    def _keys(self, rows: Iterable[dict[str, Any]]) -> Iterator[Key]:
        return (self._table.key_of(from_wire(row)) for row in rows)

    def _isolate(self, rows: Rows, code: str) -> dict[Key, Failure]:
        """DynamoDB refuses a whole call for one invalid item: halve the call until each invalid item is alone."""
        if len(rows) == 1:
            return dict.fromkeys(rows, PoisonRecord("refused_by_store", f"the table refuses the item: {code}"))
        pairs = list(rows.items())
        half = len(pairs) // 2
        return self.run(dict(pairs[:half])) | self.run(dict(pairs[half:]))


class _Lookups(_Writes):
    """Looks up keys instead of writing rows; ``found`` are the keys that the table has."""

    def __init__(self, dynamodb: AwsClient, table: Table, deadline: float) -> None:
        super().__init__(dynamodb, table, deadline)
        self.found: set[Key] = set()
        names = {f"#k{number}": name for number, name in enumerate(table.key)}
        projection = {"ProjectionExpression": ",".join(names), "ExpressionAttributeNames": names}
        self._parameters: dict[str, Any] = {"ConsistentRead": True, **projection}

    def _call(self, rows: Rows) -> Rows:
        """One BatchGetItem; the keys that were not processed."""
        request = {"Keys": list(rows.values()), **self._parameters}
        response = call(self._dynamodb.batch_get_item, expected=_INVALID_ITEM, RequestItems={self._table.name: request})
        self.found.update(self._keys(response["Responses"].get(self._table.name, ())))
        left = response.get("UnprocessedKeys", {}).get(self._table.name, {}).get("Keys", ())
        return {key: rows[key] for key in self._keys(left)}
