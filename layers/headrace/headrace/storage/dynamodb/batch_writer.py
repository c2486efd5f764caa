"""Inserts rows into DynamoDB with parallel calls of 25 rows each, and retries the rows that were throttled.

BatchExecuteStatement inserts each row on its own, and only if its key has no row; BatchWriteItem has no conditions.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.insert.html
"""

from __future__ import annotations

import functools
import random
import threading
import time
from collections.abc import Sequence
from typing import Any

from headrace.core.collections import slices
from headrace.core.errors import PoisonRecord, StoreThrottled, StoreUnavailable
from headrace.core.items import Item
from headrace.runtime.aws import AwsClient, AwsError, call, client
from headrace.runtime.threads import Parallel
from headrace.storage.dynamodb.client import THROTTLING_CODES, WRITE_LIMIT, to_wire
from headrace.storage.dynamodb.direct import send_directly
from headrace.storage.ports import EXISTS, Key, Outcome, Table, one_of_each

FIRST_WAIT = 0.05
LONGEST_WAIT = 1.0
_THROTTLED = StoreThrottled("the table takes less than it is given")
_INVALID_CALL = {"ValidationException"}
_TRANSIENT = {"InternalServerError", "InternalFailure", "ServiceUnavailable"}
# The errors of single statements have other names.
_DUPLICATE = "DuplicateItem"
_INVALID = {"ValidationError", "ItemCollectionSizeLimitExceeded"}
_LATER = {"ProvisionedThroughputExceeded", "RequestLimitExceeded", "ThrottlingError"}

Rows = dict[Key, dict[str, Any]]
"""Statements that insert rows, by key."""


def writing_client(connections: int = 8) -> AwsClient:
    """A client for batches: more time for each than for single rows."""
    return client("dynamodb", timeout=3.0, attempts=2, connections=connections)


class DynamoStore:
    """Inserts rows in batches: ``parallel`` calls at the same time, retries for ``retry_seconds``."""

    def __init__(self, dynamodb: AwsClient, parallel: int = 8, retry_seconds: float = 3.0) -> None:
        self._dynamodb = dynamodb
        send_directly(dynamodb)
        self._parallel = Parallel(parallel, "store")
        self._retry_seconds = retry_seconds

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Outcome]:
        rows, keys = one_of_each(table, items)
        inserts = _Inserts(self._dynamodb, time.monotonic() + self._retry_seconds)
        # DynamoDB takes 16 MB at once. Events are small: only rows from envelopes of more than 640 KB could exceed it.
        statements = [(key, _insert(table.name, row)) for key, row in rows.items()]
        parts = self._parallel.map(inserts.run, list(map(dict, slices(statements, WRITE_LIMIT))))
        outcomes = {key: outcome for part in parts for key, outcome in part.items()}
        return [outcomes.get(key, None if rows[key] is item else EXISTS) for key, item in zip(keys, items, strict=True)]


def _insert(table: str, row: Item) -> dict[str, Any]:
    return {"Statement": _statement(table, tuple(row)), "Parameters": list(to_wire(row).values())}


@functools.cache
def _statement(table: str, names: tuple[str, ...]) -> str:
    """The statement that inserts a row with these attributes, whose values are its parameters."""
    values = ",".join(f"'{name}':?" for name in names)
    return f'INSERT INTO "{table}" VALUE {{{values}}}'


class _Inserts:
    """The calls of one ``put_many``. They share a deadline for retries, and all stop when the table is unavailable."""

    def __init__(self, dynamodb: AwsClient, deadline: float) -> None:
        self._dynamodb = dynamodb
        self._deadline = deadline
        self._unavailable = threading.Event()

    def run(self, rows: Rows) -> dict[Key, Outcome]:
        """Insert one chunk; the outcomes of all but the rows that were inserted, by key."""
        outcomes: dict[Key, Outcome] = {}
        wait = FIRST_WAIT
        while True:
            if self._unavailable.is_set():
                return outcomes | dict.fromkeys(rows, StoreUnavailable("the table is unavailable"))
            failure: StoreUnavailable = _THROTTLED
            try:
                left = self._call(rows, outcomes)
            except AwsError as error:
                if error.code in _INVALID_CALL:
                    return outcomes | self._isolate(rows, error.code)
                left = rows
                if error.code not in THROTTLING_CODES:
                    failure = StoreUnavailable(f"the table is unavailable: {error.code}")
                    if error.code not in _TRANSIENT:
                        self._unavailable.set()
                        return outcomes | dict.fromkeys(rows, failure)
            if not left:
                return outcomes
            # Full jitter: chunks that were throttled together must not retry together.
            pause = random.uniform(0, wait)  # noqa: S311
            if time.monotonic() + pause >= self._deadline:
                return outcomes | dict.fromkeys(left, failure)
            time.sleep(pause)
            rows, wait = left, min(wait * 2, LONGEST_WAIT)

    def _call(self, rows: Rows, outcomes: dict[Key, Outcome]) -> Rows:
        """Call once; the rows to try again. Those that were refused, or have a row, get their outcomes."""
        response = call(self._dynamodb.batch_execute_statement, expected=_INVALID_CALL, Statements=list(rows.values()))
        left: Rows = {}
        for (key, statement), answer in zip(rows.items(), response["Responses"], strict=True):
            code = answer["Error"]["Code"] if "Error" in answer else ""
            if code in _LATER:
                left[key] = statement
            elif code:
                outcomes[key] = EXISTS if code == _DUPLICATE else _refused(code)
        return left

    def _isolate(self, rows: Rows, code: str) -> dict[Key, Outcome]:
        """DynamoDB may refuse a whole call for one invalid row: halve the call until each invalid row is alone."""
        if len(rows) == 1:
            return dict.fromkeys(rows, _refused(code))
        pairs = list(rows.items())
        half = len(pairs) // 2
        return self.run(dict(pairs[:half])) | self.run(dict(pairs[half:]))


def _refused(code: str) -> PoisonRecord | StoreUnavailable:
    if code in _INVALID or code in _INVALID_CALL:
        return PoisonRecord("refused_by_store", f"the table refuses the item: {code}")
    return StoreUnavailable(f"the table is unavailable: {code}")
