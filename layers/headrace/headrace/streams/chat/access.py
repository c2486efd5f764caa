"""Who may read and write a room: the one place that decides it from rooms, memberships and the caller's token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import FieldError, Forbidden, StoreUnavailable, echo
from headrace.core.intervals import Interval
from headrace.core.times import MINUTE, micros_of
from headrace.streams.chat.memberships import Memberships
from headrace.streams.chat.rooms import OPEN, Rooms

__all__ = ["Access", "Interval", "ReadScope", "RoomAccess", "not_in_room", "was_said_outside"]

CLOCK_TOLERANCE = 5 * MINUTE
"""How far a client's clock may be off, in both directions."""


@dataclass(frozen=True, slots=True)
class ReadScope:
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

    def reach(self, caller: Caller, room_id: str) -> ReadScope:
        """How much of the room ``caller`` may read; an unknown room reads as open and empty. Checks no scope.

        Raises:
            Forbidden: a ``members`` room that the caller was never in.
            StoreUnavailable: it cannot be told right now.
        """
        ...

    def reaches(self, caller: Caller, room_ids: Sequence[str]) -> dict[str, ReadScope | None]:
        """:meth:`reach` for several rooms, asked together; ``None`` where that is forbidden.

        Raises:
            StoreUnavailable: it cannot be told of every room right now.
        """
        ...

    def check_write(self, caller: Caller, room_id: str) -> None:
        """Pass if ``caller`` may write to the room now; events:write may write anywhere. Checks no scope.

        Raises:
            Forbidden: a ``members`` room that the caller is not in.
            StoreUnavailable: it cannot be told right now.
        """
        ...


class RoomAccess:
    """:class:`Access` by rooms and memberships: an open room is remembered, a membership is read every time."""

    def __init__(self, rooms: Rooms, memberships: Memberships) -> None:
        self._rooms = rooms
        self._memberships = memberships

    def reach(self, caller: Caller, room_id: str) -> ReadScope:
        room = self._rooms.get(room_id)
        if room is None or room.kind == OPEN:
            return ReadScope(None)
        intervals = self._memberships.get(caller.subject, room_id).intervals
        if not intervals:
            raise not_in_room(room_id)
        return ReadScope(intervals)

    def reaches(self, caller: Caller, room_ids: Sequence[str]) -> dict[str, ReadScope | None]:
        """How much of each room ``caller`` may read."""
        rooms = self._rooms.get_many(room_ids)
        closed = [room_id for room_id, room in rooms.items() if room is not None and room.kind != OPEN]
        memberships = self._memberships.get_many([(caller.subject, room_id) for room_id in closed])
        if len(rooms) < len(set(room_ids)) or len(memberships) < len(closed):
            raise StoreUnavailable("rooms cannot be reached right now; try again shortly")
        found: dict[str, ReadScope | None] = dict.fromkeys(rooms, ReadScope(None))
        for room_id in closed:
            intervals = memberships[caller.subject, room_id].intervals
            found[room_id] = ReadScope(intervals) if intervals else None
        return found

    def check_write(self, caller: Caller, room_id: str) -> None:
        if caller.has(EVENTS_WRITE):
            return
        room = self._rooms.get(room_id)
        if room is None or room.kind == OPEN:
            return
        if not self._memberships.get(caller.subject, room_id).is_open:
            raise not_in_room(room_id)


def not_in_room(room_id: str) -> Forbidden:
    """The refusal of whoever is not in a ``members`` room."""
    detail = FieldError("roomId", "is a room that you are not in", echo(room_id), "a room that you are a member of")
    return Forbidden("you are not in this room", details=[detail])


def was_said_outside(intervals: Sequence[Interval], timestamp: str) -> bool:
    """Whether ``timestamp`` is in none of the ``intervals``, give or take ``CLOCK_TOLERANCE``.

    Without this a new member could put words into what was said before they came.
    """
    said = micros_of(timestamp)
    return not any(
        micros_of(each.joined_at) <= said + CLOCK_TOLERANCE
        and (each.left_at is None or said - CLOCK_TOLERANCE < micros_of(each.left_at))
        for each in reversed(intervals)
    )
