"""Tidies the archive, so that it holds what the tables hold, and nothing more.

A deletion, an erasure or an expiry changes or deletes rows of the tables. Their lines in the archive say so, and then
the earlier lines of these rows go: a text that is deleted, a person who was erased.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from itertools import groupby
from uuid import uuid4

from headrace.core.collections import slices
from headrace.core.json import encode_ascii
from headrace.core.people import Progress, Step, Target
from headrace.features.archive.bucket import (
    NEW,
    SUFFIX,
    ArchiveSettings,
    Line,
    Newest,
    folder_of,
    mark_of,
    objects,
    pack,
    unpack,
)
from headrace.storage.s3 import Objects

LOCK = "tidying"
"""The object that only one tidier at a time has."""
LOCK_SECONDS = 1200
"""How long a tidier that was stopped has the lock: longer than an invocation may last."""
PAUSE = 5.0
AT_ONCE = 200
"""New objects that are tidied at once: a million lines, of which 200 MB must be remembered."""
SMALL_BYTES = 2**20
"""An object with fewer bytes is merged with others, so that a folder has few."""
OBJECT_BYTES = 2**25
"""Bytes of the lines of an object, before they are compressed."""
MARGIN = 30.0
"""Seconds that an invocation keeps for the end of a folder."""


class Tidier:
    """Takes out of each folder with new objects the lines that a later line replaces."""

    def __init__(self, objects: Objects, sleep: Callable[[float], None] = time.sleep) -> None:
        self._objects = objects
        self._sleep = sleep

    def run(self, remaining: Callable[[], float]) -> None:
        """Tidy until less than ``MARGIN`` seconds remain. The next run goes on where this one ended.

        Raises:
            StoreUnavailable: the bucket does not answer.
        """
        with closing(self.tidy()) as progress:
            for _ in progress:
                if remaining() < MARGIN:
                    break

    def tidy(self, _target: Target | None = None) -> Progress:
        """Tidy folder by folder, also as the step of an erasure. It waits while another tidier works.

        New objects that come meanwhile are left to the next run: a busy folder would keep the others waiting.
        """
        while not self._objects.lock(LOCK, LOCK_SECONDS):
            self._sleep(PAUSE)
            yield "archive", 0
        try:
            for folder, names in groupby(list(self._objects.names(NEW)), folder_of):
                for oldest in slices(list(names), AT_ONCE):
                    self._tidy(folder, oldest)
                    yield "archive", 0
        finally:
            self._objects.delete(LOCK)

    def _tidy(self, folder: str, names: Sequence[str]) -> None:
        """Tidy one folder, of which the objects ``names`` are new. They become one object, with all that are small.

        The new objects are deleted last: a line there that says that a row was deleted is needed until all earlier
        lines of the row are gone. So the work may end at any place, and be done again.
        """
        newest = Newest()
        for name in names:
            newest.add(unpack(self._objects.read(name)))
        merged, small = Merged(self._objects, folder), []
        for name in list(self._objects.names(folder)):
            body = self._objects.read(name)
            lines = list(unpack(body))
            kept = newest.rows(lines)
            if len(body) < SMALL_BYTES:
                merged.add(kept)
                small.append(name)
            elif kept and len(kept) < len(lines):
                self._objects.write(name, pack(map(encode_ascii, kept)))
            elif not kept:
                self._objects.delete(name)
        for name in names:
            merged.add(newest.rows(unpack(self._objects.read(name))))
        merged.write()
        for name in (*small, *names):
            self._objects.delete(name)


class Merged:
    """Lines that become objects of ``folder``, with names that no other object has."""

    def __init__(self, objects: Objects, folder: str) -> None:
        self._objects = objects
        self._folder = folder
        self._lines: dict[bytes, str] = {}
        self._size = 0

    def add(self, lines: Iterable[Line]) -> None:
        for line in lines:
            text = encode_ascii(line)
            self._lines[mark_of(line)] = text
            self._size += len(text)
            if self._size > OBJECT_BYTES:
                self.write()

    def write(self) -> None:
        """Write what was added since the last time."""
        if self._lines:
            self._objects.write(f"{self._folder}{uuid4().hex}{SUFFIX}", pack(self._lines.values()))
        self._lines, self._size = {}, 0


@functools.cache
def tidier() -> Tidier:
    """Tidies the archive."""
    return Tidier(objects())


def archive_steps() -> list[Step]:
    """How an erasure ends in the archive, if the stage has one."""
    return [tidier().tidy] if ArchiveSettings.read().archive_bucket else []
