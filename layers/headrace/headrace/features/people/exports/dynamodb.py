"""Exports in the Erasures table, beside the erasures. No row has the id of a person."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from headrace.core import times
from headrace.core.items import Item
from headrace.features.people.exports.tasks import KEPT_DAYS, WITHDRAWN, Export, File
from headrace.features.people.jobs import DONE, RUNNING, STATE_NAME, DynamoJobs
from headrace.runtime.settings import ErasureSettings
from headrace.services.shared import dynamodb

_RUNS = "startedAt = :startedAt AND #state = :running"


class DynamoExports(DynamoJobs[Export]):
    """Exports by the key of their user or room."""

    kind, prefix, began_at, beside = "exports", "export#", "startedAt", "beside"

    def progress(self, key: str, started_at: str, counts: Mapping[str, int]) -> bool:
        """Set the counts. Returns whether the export that began at ``started_at`` still runs."""
        values: Item = {":startedAt": started_at, ":running": RUNNING, ":counts": dict(counts)}
        return self._table.update_if(_RUNS, self._key(key), "SET counts = :counts", values, **STATE_NAME)

    def finish(self, key: str, started_at: str, at: str, counts: Mapping[str, int], files: Sequence[File]) -> None:
        """End the export that began at ``started_at``, if it still runs."""
        values: Item = {":startedAt": started_at, ":running": RUNNING, ":counts": dict(counts), ":at": at}
        values |= {":done": DONE, ":files": [asdict(each) for each in files]}
        expression = "SET #state = :done, doneAt = :at, counts = :counts, files = :files"
        self._table.update_if(_RUNS, self._key(key), expression, values, **STATE_NAME)

    def withdraw(self, key: str) -> bool:
        """Let an export end without files, or have none any more. Returns whether there was one."""
        expression = "SET #state = :withdrawn REMOVE counts, files, beside"
        return self._table.update_if(
            "attribute_exists(person)", self._key(key), expression, {":withdrawn": WITHDRAWN}, **STATE_NAME
        )

    def _more(self, at: str) -> Item:
        # A day longer than its files, so that a late task of it begins nothing.
        return {"expiresAt": (times.micros_of(at) + (KEPT_DAYS + 1) * times.DAY) // times.SECOND}

    def _job(self, row: Item) -> Export:
        files = [File(**each) for each in row.get("files", ())]
        counts = dict(sorted(row.get("counts", {}).items()))
        return Export(row["startedAt"], row["state"], row.get("beside"), row.get("doneAt"), counts, files)


@functools.cache
def exports() -> DynamoExports:
    """The exports of the stage."""
    return DynamoExports(dynamodb(), ErasureSettings.read().erasures_table)
