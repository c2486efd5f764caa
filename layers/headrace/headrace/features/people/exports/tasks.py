"""Exports in the Erasures table, beside the erasures, their tasks, and the files that they have written.

No row has the id of a person.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pydantic import Field

from headrace.core import times
from headrace.core.items import Item
from headrace.features.people.hashes import ErasureSettings
from headrace.features.people.jobs import DONE, RUNNING, STATE_NAME, DynamoJobs, Job, State, TaskQueue
from headrace.runtime.aws import client
from headrace.services.shared import dynamodb

WITHDRAWN: State = "withdrawn"
"""Nobody gets links to its files any more: somebody in it was erased, or who asked for it may not read it now."""
Kind = Literal["user", "room"]
_RUNS = "startedAt = :startedAt AND #state = :running"
KEPT_DAYS = 7
"""Until so many days after the request, there are links. S3 deletes a file at the midnight after."""


class ExportSettings(ErasureSettings):
    """Where exports are: their rows beside the erasures, and their files."""

    exports_bucket: str = Field(min_length=3, description="the name of the ExportsBucket")
    """Bucket for files of exports."""
    export_queue_url: str = Field(default="", description="the URL of the ExportQueue")
    """Queue of exports. Erasures send none."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of an export: gzip of ``lines`` JSON lines, in ``bytes`` bytes. ``name`` is its key in the bucket."""

    name: str
    lines: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Export(Job):
    """What is known of one export, and its files when it is done."""

    files: Sequence[File] = ()

    @property
    def kept_until(self) -> int:
        """Until when the files are there, in microseconds."""
        return times.micros_of(self.began_at) + KEPT_DAYS * times.DAY


@dataclass(frozen=True, slots=True)
class Task:
    """One slice of an export, which goes on in the ``source`` behind the row ``start``.

    ``beside`` is the id of the skier or of the owner. ``files`` and ``counts`` are what the slices before have written:
    a slice that is repeated writes its own files again, and those of the interrupted one belong to no export.
    """

    kind: Kind
    id: str
    beside: str | None
    started_at: str
    source: int = 0
    start: Item | None = None
    files: Sequence[Mapping[str, Any]] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


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


def export_queue() -> TaskQueue:
    """Holds the next slices of exports."""
    return TaskQueue(ExportSettings.read().export_queue_url, client("sqs"), "exports")


def folder_of(key: str) -> str:
    """How the names of the files of a user or a room begin."""
    return f"exports/{key}/"
