"""Deletes the files of messages that have expired, once a day.

A file is uploaded at most a day before its message is accepted. So it goes a few days after a message of the time of
its upload would expire, as its room and the stage say now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from headrace.core import times
from headrace.core.collections import parts
from headrace.core.times import Clock
from headrace.runtime.observability import logger
from headrace.streams.chat.attachments.files import room_of
from headrace.streams.chat.attachments.store import Files

LATER = 3 * times.DAY
"""A day until the file is named, one that the bucket may be late, and one that the stage's retention adds."""
MARGIN = 30.0
PART = 1000
"""Files whose rooms are read together."""


class Retention(Protocol):
    """How long a room keeps messages."""

    def kept_from(self, now: int) -> str:
        """The canonical time before which no message is shown; "" without a bound."""


class Rooms(Protocol):
    """Reads the retentions of rooms. May raise StoreUnavailable."""

    def retentions(self, room_ids: Collection[str]) -> Mapping[str, Retention]: ...


@dataclass(frozen=True, slots=True)
class AttachmentTidier:
    """Reads the names of the whole bucket. ``stage_days`` is the stage's retention; 0 is without limit."""

    files: Files
    rooms: Rooms
    stage_days: int
    clock: Clock

    def run(self, remaining: Callable[[], float]) -> int:
        """Delete what has expired; returns how many files. ``remaining`` are the seconds left.

        Raises:
            StoreUnavailable: the bucket or the table of rooms does not answer.
            TimeoutError: there are too many files for one invocation.
        """
        now, deleted = self.clock.now(), 0
        for part in parts(self.files.dated_names(""), PART):
            if remaining() < MARGIN:
                raise TimeoutError("the bucket has too many files to read in one invocation")
            retentions = self.rooms.retentions({room_of(name) for name, _ in part})
            for name, uploaded in part:
                uploaded_at = times.iso(round(uploaded.timestamp()) * times.SECOND + LATER)
                if uploaded_at < self._kept_from(retentions[room_of(name)], now):
                    self.files.delete(name)
                    deleted += 1
        logger.info("attachments are tidied", extra={"deleted": deleted})
        return deleted

    def _kept_from(self, retention: Retention, now: int) -> str:
        stage = times.iso(max(0, now - self.stage_days * times.DAY)) if self.stage_days else ""
        return max(stage, retention.kept_from(now))
