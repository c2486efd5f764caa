"""An export: the request, its progress, and the files that it has written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from headrace.core import times
from headrace.core.items import Item

State = Literal["running", "done", "withdrawn"]
RUNNING: State = "running"
DONE: State = "done"
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
class Export:
    """What is known of one export. Times are canonical; ``counts`` are of lines, by their kind.

    ``beside`` is the key of the skier who is exported with a user, or of the owner who asked for a room.
    """

    started_at: str
    state: State
    beside: str | None = None
    done_at: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    files: Sequence[File] = ()

    @property
    def kept_until(self) -> int:
        """Until when the files are there, in microseconds."""
        return times.micros_of(self.started_at) + KEPT_DAYS * times.DAY


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


class Exports(Protocol):
    """Stores exports by the key of their user or room. Every method may raise StoreUnavailable."""

    def begin(self, key: str, at: str, beside: str | None) -> Export:
        """Begin an export at ``at``, unless one is running, or was begun then or later. Returns the last one."""

    def get(self, key: str) -> Export | None:
        """The last export of a user or a room."""

    def progress(self, key: str, started_at: str, counts: Mapping[str, int]) -> bool:
        """Set the counts. Returns whether the export that began at ``started_at`` still runs."""

    def finish(self, key: str, started_at: str, at: str, counts: Mapping[str, int], files: Sequence[File]) -> None:
        """End the export that began at ``started_at``, if it still runs."""

    def withdraw(self, key: str) -> bool:
        """Let an export end without files, or have none any more. Returns whether there was one."""


def folder_of(key: str) -> str:
    """How the names of the files of a user or a room begin."""
    return f"exports/{key}/"
