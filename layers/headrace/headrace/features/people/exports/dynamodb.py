"""Exports in the Erasures table, beside the erasures. No row has the id of a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from headrace.core import times
from headrace.core.items import Item
from headrace.features.people.erasures import begun
from headrace.features.people.exports.tasks import KEPT_DAYS, WITHDRAWN, Export, File
from headrace.features.people.jobs import DONE, RUNNING
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import DynamoTable

_RUNS = "startedAt = :startedAt AND #state = :running"
_STATE = {"ExpressionAttributeNames": {"#state": "state"}}


class DynamoExports:
    """Exports by the key of their user or room; every read is consistent. Every method may raise StoreUnavailable."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, "exports")

    def begin(self, key: str, at: str, beside: str | None) -> Export:
        row: Item = {**_key(key), **({} if beside is None else {"beside": beside})}
        # A day longer than its files, so that a late task of it begins nothing.
        row["expiresAt"] = (times.micros_of(at) + (KEPT_DAYS + 1) * times.DAY) // times.SECOND
        return _export(begun(self._table, row, "startedAt", at))

    def get(self, key: str) -> Export | None:
        row = self._table.get(_key(key))
        return None if row is None else _export(row)

    def progress(self, key: str, started_at: str, counts: Mapping[str, int]) -> bool:
        """Set the counts. Returns whether the export that began at ``started_at`` still runs."""
        values: Item = {":startedAt": started_at, ":running": RUNNING, ":counts": dict(counts)}
        return self._table.update_if(_RUNS, _key(key), "SET counts = :counts", values, **_STATE)

    def finish(self, key: str, started_at: str, at: str, counts: Mapping[str, int], files: Sequence[File]) -> None:
        """End the export that began at ``started_at``, if it still runs."""
        values: Item = {":startedAt": started_at, ":running": RUNNING, ":counts": dict(counts), ":at": at}
        values |= {":done": DONE, ":files": [asdict(each) for each in files]}
        expression = "SET #state = :done, doneAt = :at, counts = :counts, files = :files"
        self._table.update_if(_RUNS, _key(key), expression, values, **_STATE)

    def withdraw(self, key: str) -> bool:
        """Let an export end without files, or have none any more. Returns whether there was one."""
        expression = "SET #state = :withdrawn REMOVE counts, files, beside"
        return self._table.update_if(
            "attribute_exists(person)", _key(key), expression, {":withdrawn": WITHDRAWN}, **_STATE
        )


def _key(key: str) -> Item:
    return {"person": f"export#{key}"}


def _export(row: Item) -> Export:
    files = [File(**each) for each in row.get("files", ())]
    counts = dict(sorted(row.get("counts", {}).items()))
    return Export(row["startedAt"], row["state"], row.get("beside"), row.get("doneAt"), counts, files)
