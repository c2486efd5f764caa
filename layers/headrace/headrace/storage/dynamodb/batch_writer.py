"""Rows into DynamoDB: BatchWriteItem, several calls at once, with retries of what was not taken.

BatchWriteItem has no conditions: where a table keeps the first row of a key, it is looked up which keys there are.

botocore's own serialization of items costs more than all the rest of a write (it walks each value against the service
model), so a call's body is built here and handed to botocore before it signs. Signing, endpoints, connections and
retries remain botocore's.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from headrace.core.errors import PoisonRecord, StoreThrottled, StoreUnavailable
from headrace.core.items import Item, from_wire, to_wire
from headrace.runtime.aws import AWS_ERRORS, client, error_code, is_throttling
from headrace.storage.ports import Failure, Key, Table, one_of_each

CHUNK_ITEMS = 25
LOOK_KEYS = 100
CHUNK_BYTES = 15 * 1024 * 1024
FIRST_WAIT = 0.05
LONGEST_WAIT = 1.0

_BODY = "HeadraceBody"
_INVALID_ITEM = frozenset({"ValidationException", "ItemCollectionSizeLimitExceededException"})
_TRANSIENT = frozenset(
    {"InternalServerError", "InternalFailure", "ServiceUnavailable", "TransactionInProgressException"}
)
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode

Rows = dict[Key, bytes]
"""Encoded put requests by key."""


def dynamodb_client(connections: int) -> Any:
    """A client for :class:`DynamoStore`."""
    made = client("dynamodb", timeout=3.0, attempts=2, connections=connections)
    for call in ("BatchWriteItem", "BatchGetItem"):
        made.meta.events.register_first(f"before-parameter-build.dynamodb.{call}", _take_body)
        made.meta.events.register_first(f"before-call.dynamodb.{call}", _put_body)
    return made


def _take_body(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
    if _BODY in params:
        context[_BODY] = params.pop(_BODY)


def _put_body(params: dict[str, Any], context: dict[str, Any], **_: Any) -> None:
    if _BODY in context:
        params["body"] = context[_BODY]


class DynamoStore:
    """Writes rows to DynamoDB in batches: ``parallel`` calls at once, retries for ``retry_seconds``."""

    def __init__(
        self,
        parallel: int = 8,
        retry_seconds: float = 3.0,
        make_client: Callable[[int], Any] = dynamodb_client,
    ) -> None:
        self._client = make_client(parallel)
        self._pool = ThreadPoolExecutor(parallel, "store")
        self._retry_seconds = retry_seconds

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Failure | None]:
        """One outcome per item, in order."""
        rows, keys = one_of_each(table, items)
        put = _Put(self._client, table, time.monotonic() + self._retry_seconds)
        failures: dict[Key, Failure] = {}
        if table.insert_only:
            # Written by the same deadline: whoever looked long ago may not write over what has come since.
            look = _Look(self._client, table, put.deadline)
            failures = self._all(look, key_chunks(table, rows))
            rows = {key: row for key, row in rows.items() if key not in look.there and key not in failures}
        failures |= self._all(put, chunks(rows))
        return [failures.get(key) for key in keys]

    def _all(self, calls: _Put, found: Sequence[Rows]) -> dict[Key, Failure]:
        done = map(calls.write, found) if len(found) == 1 else self._pool.map(calls.write, found)
        return {key: failure for failed in done for key, failure in failed.items()}

    def close(self) -> None:
        """End the threads and connections."""
        self._pool.shutdown()
        self._client.close()


def chunks(rows: Mapping[Key, Item]) -> list[Rows]:
    """``rows`` in encoded groups of at most 25 and 16 MB."""
    groups: list[Rows] = []
    size = CHUNK_BYTES
    for key, row in rows.items():
        encoded = b'{"PutRequest":{"Item":' + _wire(row) + b"}}"
        if size + len(encoded) > CHUNK_BYTES or len(groups[-1]) == CHUNK_ITEMS:
            groups.append({})
            size = 0
        groups[-1][key] = encoded
        size += len(encoded)
    return groups


def key_chunks(table: Table, rows: Mapping[Key, Item]) -> list[Rows]:
    """The keys of ``rows`` in encoded groups of at most 100."""
    keys = [(key, _wire({name: row[name] for name in table.key})) for key, row in rows.items()]
    return [dict(keys[at : at + LOOK_KEYS]) for at in range(0, len(keys), LOOK_KEYS)]


def _wire(row: Item) -> bytes:
    return _encode(to_wire(row)).encode()


class _Put:
    """One put_many: its calls share the time for retries, and the knowledge that the table is away."""

    def __init__(self, dynamodb: Any, table: Table, deadline: float) -> None:
        self._dynamodb = dynamodb
        self._table = table
        self.deadline = deadline
        self._away = threading.Event()

    def write(self, rows: Rows) -> dict[Key, Failure]:
        """Write one chunk; what failed, by key."""
        wait = FIRST_WAIT
        while True:
            if self._away.is_set():
                return dict.fromkeys(rows, StoreUnavailable("the table is away"))
            if self._table.insert_only and time.monotonic() >= self.deadline:
                return dict.fromkeys(rows, _throttled())
            try:
                left, failure = self._call(rows), _throttled()
            except AWS_ERRORS as error:
                code = error_code(error)
                if code in _INVALID_ITEM:
                    return self._isolate(rows, code)
                if not is_throttling(error) and code not in _TRANSIENT:
                    self._away.set()
                    return dict.fromkeys(rows, StoreUnavailable(f"the table is away: {code}"))
                left = rows
                failure = _throttled() if is_throttling(error) else StoreUnavailable(f"the table is away: {code}")
            if not left:
                return {}
            # Full jitter: chunks that were throttled together must not come back together.
            pause = random.uniform(0, wait)  # noqa: S311
            if time.monotonic() + pause >= self.deadline:
                return dict.fromkeys(left, failure)
            time.sleep(pause)
            rows, wait = left, min(wait * 2, LONGEST_WAIT)

    def _call(self, rows: Rows) -> Rows:
        """One BatchWriteItem; the rows that were not processed."""
        body = b'{"RequestItems":{' + _encode(self._table.name).encode() + b":[" + b",".join(rows.values()) + b"]}}"
        answer = self._dynamodb.batch_write_item(RequestItems={}, **{_BODY: body})
        unprocessed = answer.get("UnprocessedItems", {}).get(self._table.name, ())
        keys = [self._table.key_of(from_wire(request["PutRequest"]["Item"])) for request in unprocessed]
        return {key: rows[key] for key in keys}

    def _isolate(self, rows: Rows, code: str) -> dict[Key, Failure]:
        """DynamoDB refuses a whole call for one bad item: halve the call until the bad ones are alone."""
        if len(rows) == 1:
            return dict.fromkeys(rows, PoisonRecord("refused_by_store", f"the table refuses the item: {code}"))
        pairs = list(rows.items())
        half = len(pairs) // 2
        return self.write(dict(pairs[:half])) | self.write(dict(pairs[half:]))


class _Look(_Put):
    """Looks for rows instead of writing them: the keys of those that are there are in ``there``."""

    def __init__(self, dynamodb: Any, table: Table, deadline: float) -> None:
        super().__init__(dynamodb, table, deadline)
        self.there: set[Key] = set()
        names = {f"#k{number}": name for number, name in enumerate(table.key)}
        asked = {"ConsistentRead": True, "ProjectionExpression": ",".join(names), "ExpressionAttributeNames": names}
        self._asked = _encode(asked).encode()

    def _call(self, rows: Rows) -> Rows:
        """One BatchGetItem; the rows that were not looked for."""
        keys = self._asked[:-1] + b',"Keys":[' + b",".join(rows.values()) + b"]}"
        body = b'{"RequestItems":{' + _encode(self._table.name).encode() + b":" + keys + b"}}"
        answer = self._dynamodb.batch_get_item(RequestItems={}, **{_BODY: body})
        self.there |= {self._table.key_of(from_wire(row)) for row in answer["Responses"].get(self._table.name, ())}
        left = answer.get("UnprocessedKeys", {}).get(self._table.name, {}).get("Keys", ())
        return {key: rows[key] for key in (self._table.key_of(from_wire(row)) for row in left)}


def _throttled() -> StoreUnavailable:
    return StoreThrottled("the table takes less than it is given")
