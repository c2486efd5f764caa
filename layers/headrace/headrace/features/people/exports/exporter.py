"""Runs exports in slices: one source after the other, for as long as an invocation has time."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from headrace.core import times
from headrace.core.items import Item
from headrace.core.people import Source
from headrace.core.times import Clock
from headrace.features.people.exports.lines import MANIFEST, Omitted, Part
from headrace.features.people.exports.tasks import DynamoExports, File, Task, folder_of
from headrace.features.people.hashes import ROOM, SKIER, USER, Person, PersonHashes
from headrace.features.people.jobs import MARGIN, RUNNING, TaskQueue
from headrace.storage.s3 import Objects

FILE_BYTES = 8_000_000
"""A file ends with the page of lines that makes it larger."""
UNSURE = times.MINUTE
"""What was stored less than this before the request can be missing: an index lags, and times are of several clocks."""
Sources = Callable[[Task], tuple[Sequence[Source], Sequence[Omitted]] | None]
Place = tuple[int, Item | None]


@dataclass(frozen=True, slots=True)
class Exporter:
    """Runs exports of users and rooms, by the ``sources`` of each kind."""

    sources: Mapping[str, Sources]
    exports: DynamoExports
    files: Objects
    queue: TaskQueue
    hashes: PersonHashes
    clock: Clock
    file_bytes: int = FILE_BYTES

    def run(self, task: Task, remaining: Callable[[], float]) -> None:
        """Run a slice, and send the next one, unless the export is done. ``remaining`` are the seconds left.

        Raises:
            Unavailable: a dependency does not answer. The slice can be run again.
        """
        key = self.hashes.key(Person(task.kind, task.id))
        beside = beside_of(self.hashes, task.kind, task.beside)
        export = self.exports.begin(key, task.started_at, beside)
        if export.state != RUNNING or (export.began_at, export.beside) != (task.started_at, beside):
            return  # delivered twice, requested twice at once, for another owner, or withdrawn
        found = self.sources[task.kind](task)
        if found is None:
            self.exports.withdraw(key)
            return
        sources, omitted = found
        counts, files = Counter(task.counts), [File(**each) for each in task.files]
        place: Place | None = (task.source, task.start)
        while place is not None:
            part = Part()
            place = self._fill(part, sources, place, remaining)
            counts += part.counts
            if place is None:
                part.add([(MANIFEST, self._manifest(task, counts, omitted))])
            # Looked up before each file: of somebody who is erased meanwhile, no more is written.
            if not self.exports.progress(key, task.started_at, counts):
                return
            files.append(self._write(folder_of(key), part, len(files) + 1))
            if place is not None and remaining() < MARGIN:
                source, start = place
                written = [asdict(each) for each in files]
                self.queue.send(replace(task, source=source, start=start, files=written, counts=dict(counts)))
                return
        self.exports.finish(key, task.started_at, times.iso(self.clock.now()), counts, files)

    def _fill(
        self, part: Part, sources: Sequence[Source], place: Place, remaining: Callable[[], float]
    ) -> Place | None:
        """Write lines until the file is full or time ends. Returns the place behind them; ``None`` at the end."""
        number, start = place
        while number < len(sources):
            for lines, behind in sources[number](start):
                part.add(lines)
                if part.size >= self.file_bytes or remaining() < MARGIN:
                    following = (number, behind) if behind is not None else (number + 1, None)
                    return following if following[0] < len(sources) else None
            number, start = number + 1, None
        return None

    def _write(self, folder: str, part: Part, number: int) -> File:
        body = part.end()
        # Each file has another name: a slice that is delivered twice never changes a file of another one.
        file = File(f"{folder}{number:05}-{secrets.token_hex(8)}.jsonl.gz", part.counts.total(), len(body))
        self.files.write(file.name, body)
        return file

    def _manifest(self, task: Task, counts: Mapping[str, int], omitted: Sequence[Omitted]) -> dict[str, Any]:
        return {
            ("roomId" if task.kind == ROOM else "userId"): task.id,
            "asOf": as_of(task.started_at),
            "doneAt": times.iso(self.clock.now()),
            "counts": dict(sorted(counts.items())),
            "notIncluded": list(omitted),
        }


def as_of(started_at: str) -> str:
    """The time from which on an export can miss what was stored."""
    return times.iso(times.micros_of(started_at) - UNSURE)


def beside_of(hashes: PersonHashes, kind: str, id: str | None) -> str | None:
    """Stands for the skier who is exported with a user, or for the owner who asked for a room."""
    return None if id is None else hashes.key(Person(USER if kind == ROOM else SKIER, id))
