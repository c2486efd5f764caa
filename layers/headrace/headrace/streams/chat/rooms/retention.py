"""How long the messages of a room are kept, where its owner has chosen fewer days than the stage.

A message counts from its own time, without the day that the stage adds. Readers leave out what is older, whatever the
row says: a row that was stored before the choice expires as the stage says, and DynamoDB deletes rows late.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headrace.core import times
from headrace.core.collections import BoundedDict
from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item

RETENTION_SECONDS = 10.0
"""An environment sees a change of a room's retention after this, at the latest."""
MOST_DAYS = 3650
"""The most that a stage keeps messages (``ChatRetentionDays``)."""


@dataclass(frozen=True, slots=True)
class Retention:
    """``days`` from a message's time, ``None``: as the stage. What is before ``gone_before`` does not come back."""

    days: int | None = None
    gone_before: str = ""

    def kept_from(self, now: int) -> str:
        """The canonical time before which no message is shown at ``now`` (microseconds); "" without a bound."""
        if self.days is None:
            return self.gone_before
        return max(self.gone_before, times.iso(max(0, now - self.days * times.DAY)))

    def changed(self, days: int | None, now: int) -> Retention:
        """The retention after a change at ``now``. More days do not bring back what was not shown any more."""
        return Retention(days, self.kept_from(now))

    def limit(self, row: Item, timestamp: str, now: int) -> bool:
        """Let the row of a message of ``timestamp``, or of its edit, expire with it. Returns whether it does sooner."""
        if timestamp < self.gone_before:
            expires = now
        elif self.days is None:
            return False
        else:
            expires = times.micros_of(timestamp) + self.days * times.DAY
        # Not in the past: DynamoDB never deletes a row that has expired for five years.
        expires = max(expires, now) // times.SECOND
        if row.get("expiresAt", expires + 1) <= expires:
            return False
        row["expiresAt"] = expires
        return True


AS_STAGE = Retention()


class _Room(Protocol):
    @property
    def room_id(self) -> str: ...

    @property
    def retention(self) -> Retention: ...


class KnownRetentions:
    """The retentions of up to ``limit`` rooms that an environment knows. ``seconds`` gives the time of the system."""

    def __init__(self, limit: int, seconds: Callable[[], float]) -> None:
        self._known: BoundedDict[str, tuple[Retention, float]] = BoundedDict(limit)
        self._seconds = seconds

    def learn(self, room_id: str, retention: Retention) -> None:
        """Remember what was read just now."""
        self._known[room_id] = retention, self._seconds()

    def known(self, room_id: str) -> Retention:
        """The retention as it was when it was last read."""
        return self._known.get(room_id, (AS_STAGE, 0.0))[0]

    def recent(
        self, room_ids: Collection[str], read: Callable[[Sequence[str]], Iterable[_Room | None]], *, or_old: bool
    ) -> dict[str, Retention]:
        """The retentions, of which ``read`` reads those that are older than ``RETENTION_SECONDS``.

        Raises StoreUnavailable if they cannot be read; with ``or_old``, only if one of them was never read.
        """
        now = self._seconds()
        old = [each for each in dict.fromkeys(room_ids) if not self._is_recent(each, now)]
        try:
            rooms = read(old) if old else ()
            for room_id in old:  # one that is missing is not looked up for each page either
                self.learn(room_id, AS_STAGE)
            for room in rooms:
                if room is not None:
                    self.learn(room.room_id, room.retention)
        except StoreUnavailable:
            if not or_old or any(room_id not in self._known for room_id in old):
                raise
        return {room_id: self.known(room_id) for room_id in room_ids}

    def _is_recent(self, room_id: str, now: float) -> bool:
        return room_id in self._known and 0 <= now - self._known[room_id][1] < RETENTION_SECONDS
