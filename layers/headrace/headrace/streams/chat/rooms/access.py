"""Rights in a room: which messages a caller may read, and who owns it; decided from rooms and memberships."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.core.caller import Caller
from headrace.core.errors import FieldError, Forbidden, StoreUnavailable, echo
from headrace.core.times import MINUTE, Interval, micros_of
from headrace.streams.chat.rooms.memberships import MEMBER, OWNER, Membership, Memberships, Role
from headrace.streams.chat.rooms.rooms import OPEN, Room, Rooms

CLOCK_TOLERANCE = 5 * MINUTE
"""Microseconds that a client's clock may differ, in both directions."""


@dataclass(frozen=True, slots=True)
class ReadScope:
    """Which messages of a room a caller may read: those within ``intervals``, oldest first, never overlapping.

    ``None`` is the whole room. A message of a trusted sender may be stored a moment before its room ``exists``.
    """

    intervals: tuple[Interval, ...] | None
    exists: bool = True

    @property
    def is_open(self) -> bool:
        """Whether new messages may be read."""
        return self.intervals is None or (bool(self.intervals) and self.intervals[-1].left_at is None)

    def covers(self, timestamp: str) -> bool:
        """Whether a message of this time may be read."""
        return self.intervals is None or any(interval.covers(timestamp) for interval in self.intervals)


class RoomAccess:
    """Decides what callers may read. Memberships are read every time, so a leave or removal counts at once.

    The router has checked the token's scopes before. Every method may raise StoreUnavailable.
    """

    def __init__(self, rooms: Rooms, memberships: Memberships) -> None:
        self._rooms = rooms
        self._memberships = memberships

    def read_scope(self, caller: Caller, room_id: str) -> ReadScope:
        """How much of the room ``caller`` may read; an unknown room reads as open and empty.

        Raises:
            Forbidden: a ``members`` room that the caller was never in.
        """
        room = self._rooms.get(room_id)
        if room is None or room.kind == OPEN:
            return ReadScope(None, exists=room is not None)
        intervals = self._memberships.get(caller.subject, room_id).intervals
        if not intervals:
            raise not_in_room(room_id)
        return ReadScope(intervals)

    def read_scopes(self, caller: Caller, room_ids: Sequence[str]) -> dict[str, ReadScope | None]:
        """The :meth:`read_scope` of each room, or ``None`` if the caller may not read it. Costs two reads in all."""
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

    def owns(self, caller: Caller, room: Room) -> bool:
        """Whether the caller owns the room now."""
        if room.created_by == caller.subject:
            return True
        return effective_role(room, self._memberships.get(caller.subject, room.room_id)) == OWNER

    def is_member_anywhere(self, user_id: str) -> bool:
        """Whether the user is or was in any room."""
        return self._memberships.is_known(user_id)


def check_own(caller: Caller, user_id: str, message: str) -> None:
    """Check that ``user_id`` is the caller. Raises Forbidden with ``message``."""
    if user_id != caller.subject:
        raise Forbidden(message, details=[FieldError("userId", "is not you", echo(user_id), "the token's own user")])


def effective_role(room: Room, membership: Membership) -> Role:
    """The role of a member: the creator of a room always owns it, others while they are in it with that role."""
    is_owner = membership.role == OWNER and membership.is_open
    return OWNER if is_owner or room.created_by == membership.user_id else MEMBER


def not_in_room(room_id: str) -> Forbidden:
    """The error for a caller who is not in a ``members`` room."""
    detail = FieldError("roomId", "is a room that you are not in", echo(room_id), "a room that you are a member of")
    return Forbidden("you are not in this room", details=[detail])


def is_outside(intervals: Sequence[Interval], timestamp: str) -> bool:
    """Whether ``timestamp`` is outside all ``intervals`` by more than ``CLOCK_TOLERANCE``."""
    at = micros_of(timestamp)
    return not any(
        micros_of(interval.joined_at) <= at + CLOCK_TOLERANCE
        and (interval.left_at is None or at - CLOCK_TOLERANCE < micros_of(interval.left_at))
        for interval in reversed(intervals)
    )
