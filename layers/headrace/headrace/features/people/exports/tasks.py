"""An export: the request, its progress, and the files that it has written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from headrace.core import times
from headrace.core.items import Item
from headrace.features.people.jobs import Job, State, TaskQueue
from headrace.runtime.aws import client
from headrace.runtime.settings import ExportSettings

WITHDRAWN: State = "withdrawn"
"""Nobody gets links to its files any more: somebody in it was erased, or who asked for it may not read it now."""
Kind = Literal["user", "room"]
ROOM: Kind = "room"
"""The kind of a room among those of people: an export of either is stored by a hash."""
KEPT_DAYS = 7
"""Until so many days after the request, there are links. S3 deletes a file at the midnight after."""


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


def export_queue() -> TaskQueue:
    """Holds the next slices of exports."""
    return TaskQueue(ExportSettings.read().export_queue_url, client("sqs"), "exports")


def folder_of(key: str) -> str:
    """How the names of the files of a user or a room begin."""
    return f"exports/{key}/"
