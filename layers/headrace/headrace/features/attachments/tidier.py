"""Deletes the files of messages that have expired, once a day.

A file is uploaded at most a day before its message is accepted. So it goes a few days after a message of the time of
its upload would expire: as its room says now, and as the stage said then, as for the row of the message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Protocol

from headrace.core import times
from headrace.core.collections import parts
from headrace.core.times import Clock
from headrace.features.attachments.files import days_of, room_of
from headrace.features.attachments.store import Attachments
from headrace.runtime.observability import logger

LATER = 3 * times.DAY
"""A day until the file is named, one that the bucket may be late, and one that the stage's retention adds."""
MARGIN = 30.0
PART = 1000
"""Files whose rooms are read together."""
FIRST = "0123456789abcdef"
"""How names can begin."""


class Retention(Protocol):
    """How long a room keeps messages."""

    def kept_from(self, now: int) -> str:
        """The canonical time before which no message is shown; "" without a bound."""


@dataclass(frozen=True, slots=True)
class AttachmentTidier:
    """Reads the names of the whole bucket, and the ``retentions`` of rooms."""

    attachments: Attachments
    retentions: Callable[[Collection[str]], Mapping[str, Retention]]
    clock: Clock

    def run(self, remaining: Callable[[], float]) -> int:
        """Delete what has expired; returns how many files. ``remaining`` are the seconds left.

        Raises:
            StoreUnavailable: the bucket or the table of rooms does not answer.
            TimeoutError: there are too many files for one invocation.
        """
        now, deleted = self.clock.now(), 0
        for part in parts(self._names(now), PART):
            if remaining() < MARGIN:
                raise TimeoutError("the bucket has too many files to read in one invocation")
            retentions = self.retentions({room_of(name) for name, _ in part})
            kept_from = {room_id: each.kept_from(now) for room_id, each in retentions.items()}
            expired = [
                name
                for name, uploaded in part
                if times.iso(round(uploaded.timestamp()) * times.SECOND + LATER)
                < max(kept_from[room_of(name)], _kept_by_stage(days_of(name), now))
            ]
            self.attachments.delete_files(expired)
            deleted += len(expired)
        logger.info("attachments are tidied", extra={"deleted": deleted})
        return deleted

    def _names(self, now: int) -> Iterator[tuple[str, datetime]]:
        """All names, each day from another one on: if a run cannot read them all, another one does."""
        first = FIRST[now // times.DAY % len(FIRST)]
        yield from self.attachments.names(first)
        yield from takewhile(lambda named: named[0] <= first, self.attachments.names(""))


def _kept_by_stage(days: int, now: int) -> str:
    """The canonical time before which a stage has deleted messages; its ``days`` are those of the time of storing."""
    return times.iso(max(0, now - days * times.DAY)) if days else ""
