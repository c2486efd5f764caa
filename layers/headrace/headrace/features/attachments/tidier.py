"""Deletes the files of messages that have expired, once a day.

A file is uploaded at most a day before its message is accepted. So it goes a few days after a message of the time of
its upload would expire: as its room says now, and as the stage said then, as for the row of the message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from itertools import takewhile

from headrace.core import times
from headrace.core.collections import parts
from headrace.core.times import Clock
from headrace.features.attachments.files import days_of, room_of
from headrace.features.attachments.store import Attachments, attachments
from headrace.runtime.observability import logger
from headrace.services.rooms import rooms
from headrace.services.shared import clock
from headrace.streams.chat.rooms.retention import Retention

LATER = 3 * times.DAY
"""A day until the file is named, one that the bucket may be late, and one that the stage's retention adds."""
MARGIN = 30.0
PART = 1000
"""Files whose rooms are read together."""
FIRST = "0123456789abcdef"
"""How names can begin."""


def tidy(
    files: Attachments,
    retentions: Callable[[Collection[str]], Mapping[str, Retention]],
    clock: Clock,
    remaining: Callable[[], float],
) -> int:
    """Delete what has expired, as the ``retentions`` of rooms say; returns how many files.

    ``remaining`` are the seconds left.

    Raises:
        StoreUnavailable: the bucket or the table of rooms does not answer.
        TimeoutError: there are too many files for one invocation.
    """
    now, deleted = clock.now(), 0
    for part in parts(_names(files, now), PART):
        if remaining() < MARGIN:
            raise TimeoutError("the bucket has too many files to read in one invocation")
        kept_from = {
            room: each.kept_from(now) for room, each in retentions({room_of(name) for name, _ in part}).items()
        }
        expired = [
            name
            for name, uploaded in part
            if times.iso(round(uploaded.timestamp()) * times.SECOND + LATER)
            < max(kept_from[room_of(name)], _kept_by_stage(days_of(name), now))
        ]
        files.delete_files(expired)
        deleted += len(expired)
    logger.info("attachments are tidied", extra={"deleted": deleted})
    return deleted


def _names(files: Attachments, now: int) -> Iterator[tuple[str, datetime]]:
    """All names, each day from another one on: if a run cannot read them all, another one does."""
    first = FIRST[now // times.DAY % len(FIRST)]
    yield from files.names(first)
    yield from takewhile(lambda named: named[0] <= first, files.names(""))


def _kept_by_stage(days: int, now: int) -> str:
    """The canonical time before which a stage has deleted messages; its ``days`` are those of the time of storing."""
    return times.iso(max(0, now - days * times.DAY)) if days else ""


def tidy_attachments(remaining: Callable[[], float]) -> None:
    """:func:`tidy` the bucket of the stage."""
    tidy(attachments(), rooms().retentions, clock(), remaining)
