"""Who may read and write a room: the one place that decides it from rooms, memberships and the caller's token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from headrace.auth import Caller
from headrace.memberships import Interval

__all__ = ["Access", "Interval", "Reach"]


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of a room a caller may read: what was said in ``intervals`` (oldest first, never overlapping).

    ``None`` is the whole room.
    """

    intervals: tuple[Interval, ...] | None

    @property
    def is_open(self) -> bool:
        """Whether what is said now is within reach."""
        return self.intervals is None or (bool(self.intervals) and self.intervals[-1].left_at is None)


class Access(Protocol):
    """Decides by what is in force now: a leave or removal that was answered is seen by the next question."""

    def reach(self, caller: Caller, room_id: str) -> Reach:
        """How much of the room ``caller`` may read; an unknown room reads as open and empty. Checks no scope.

        Raises:
            Forbidden: a ``members`` room that the caller was never in.
            StoreUnavailable: it cannot be told right now.
        """
        ...

    def check_write(self, caller: Caller, room_id: str) -> None:
        """Pass if ``caller`` may write to the room now; events:write may write anywhere. Checks no scope.

        Raises:
            Forbidden: a ``members`` room that the caller is not in.
            StoreUnavailable: it cannot be told right now.
        """
        ...
