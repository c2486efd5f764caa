"""Rights in rooms: which messages a caller may read, and who owns a room."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from headrace.core.caller import Caller
from headrace.core.errors import FieldError, Forbidden, NotFound, echo
from headrace.core.keys import flaw_of, is_reserved_room
from headrace.streams.chat.room_shards import shard_count
from headrace.streams.chat.rooms.dynamodb import Memberships
from headrace.streams.chat.rooms.memberships import MEMBER, OWNER, Membership, Role
from headrace.streams.chat.rooms.read_scope import ReadScope
from headrace.streams.chat.rooms.retention import Retention
from headrace.streams.chat.rooms.rooms import OPEN, CachedRooms, Room, id_held


class RoomAccess:
    """Decides what callers may read. Memberships are read every time, so a leave or removal counts at once.

    The router has checked the token's scopes before. Every method may raise StoreUnavailable.
    """

    def __init__(self, rooms: CachedRooms, memberships: Memberships) -> None:
        self._rooms = rooms
        self._memberships = memberships

    def read_scope(self, caller: Caller, room_id: str) -> ReadScope:
        """How much of the room ``caller`` may read; an unknown room reads as open and empty, a deleted one as empty.

        Raises:
            Forbidden: a ``members`` room that the caller was never in, or the id of a direct room, existing or not.
        """
        scope = self.read_scopes(caller, [room_id])[room_id]
        if scope is None:
            raise not_in_room(room_id)
        return scope

    def read_scopes(self, caller: Caller, room_ids: Sequence[str]) -> dict[str, ReadScope | None]:
        """The :meth:`read_scope` of each room, or ``None`` if the caller may not read it.

        Of a direct room only the membership is read: others must not see, not even by its time, whether it exists.
        Costs two reads, and a third one where a scope is used and the retention of a room was not read a moment ago.
        """
        closed = list(dict.fromkeys(filter(is_reserved_room, room_ids)))
        rooms = self._rooms.get_many([room_id for room_id in room_ids if not is_reserved_room(room_id)])
        closed += [room_id for room_id, room in rooms.items() if room is not None and room.kind != OPEN]
        memberships = self._memberships.get_many([(caller.subject, room_id) for room_id in closed])
        within = {room_id: memberships[caller.subject, room_id].intervals for room_id in closed}
        found: dict[str, ReadScope | None] = {each: None for each, intervals in within.items() if not intervals}
        missing = [room_id for room_id, room in rooms.items() if room is None]
        found |= {each: ReadScope(() if self._rooms.held_until(each) else None, exists=False) for each in missing}
        whole = self.whole_rooms([each for each in {**rooms, **within} if each not in found])
        return found | {each: replace(scope, intervals=within.get(each)) for each, scope in whole.items()}

    def whole_rooms(self, room_ids: Collection[str]) -> dict[str, ReadScope]:
        """Scopes of all that rooms keep, for a user's own messages. The first one that is used costs one read."""
        retentions = cache(partial(self._rooms.retentions, room_ids))
        return {each: ReadScope(None, partial(_retention, retentions, each)) for each in room_ids}

    def owns(self, caller: Caller, room: Room) -> bool:
        """Whether the caller owns the room now."""
        if room.created_by == caller.subject:
            return True
        return effective_role(room, self._memberships.get(caller.subject, room.room_id)) == OWNER

    def is_member_anywhere(self, user_id: str) -> bool:
        """Whether the user is or was in any room."""
        return self._memberships.is_known(user_id)


def _retention(retentions: Callable[[], Mapping[str, Retention]], room_id: str) -> Retention:
    return retentions()[room_id]


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


def existing(room: Room | None, room_id: str) -> Room:
    """``room``, if it exists. Raises NotFound."""
    if room is None:
        raise no_room(room_id)
    return room


def no_room(room_id: str, free_from: str = "") -> NotFound:
    """The error for a room that does not exist, or that was deleted; then its id is free from this time on."""
    if free_from:
        return NotFound("the room was deleted", details=id_held(room_id, free_from).details)
    others = ", or has a message" if shard_count(room_id) == 1 else "; no message creates one with shards"
    if flaw := flaw_of(room_id):
        others = f"; no message creates one whose id {flaw}"
    detail = FieldError("roomId", "is not the id of a room", echo(room_id), f"a room that was created{others}")
    return NotFound("there is no such room", details=[detail])
