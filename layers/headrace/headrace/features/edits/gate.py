"""Who may change a message: its author, and the owners of a ``members`` room, who may delete it.

It is checked when a change is accepted. If the tables are unavailable then, it is checked before the change is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import Conflict, FieldError, Forbidden, StoreUnavailable, UserError, echo
from headrace.core.items import Item
from headrace.core.sender import ValidatedEvent
from headrace.core.times import AGE_LIMIT, AHEAD_LIMIT
from headrace.features.edits.change import AUTHOR, EDIT, OWNER, TRUSTED, By
from headrace.runtime.observability import report
from headrace.services.messages import impatient_message_table
from headrace.services.rooms import impatient_rooms
from headrace.streams.chat.message_row import CHANGE, no_message
from headrace.streams.chat.messages.check import as_of
from headrace.streams.chat.messages.dynamodb import MessageTable
from headrace.streams.chat.rooms.access import effective_role, no_room, not_in_room
from headrace.streams.chat.rooms.dynamodb import Memberships
from headrace.streams.chat.rooms.memberships import Membership
from headrace.streams.chat.rooms.read_scope import ReadScope
from headrace.streams.chat.rooms.rooms import MEMBERS, CachedRooms, Room
from headrace.streams.chat.stream import TEXT, UNCHECKED


class ChangeRights:
    """Reads what decides who may change a message. ``by`` may raise StoreUnavailable."""

    def __init__(self, table: MessageTable, rooms: CachedRooms, memberships: Memberships) -> None:
        self._table = table
        self._rooms = rooms
        self._memberships = memberships

    def by(self, change: Mapping[str, Any], now: int, *, is_trusted: bool = False) -> By:
        """Whether the sender of a ``change`` (its event) is the author or an owner.

        ``now`` is when it was accepted, in microseconds: a member who has left since then still may.

        A message that is not stored yet may be changed by its author: it can be in a lane. Whether the sender is its
        author then shows when it is stored. An author who has left the room may delete, and no longer edit. A
        ``is_trusted`` sender need not be in the room.

        Raises:
            NotFound, Forbidden, Conflict: the sender may not change it.
        """
        room_id, user_id = change["roomId"], change["changedBy"]
        # Of direct rooms only the membership is read: others must not see whether they exist.
        membership = self._memberships.get_many([(user_id, room_id)])[user_id, room_id]
        is_hidden = keys.is_reserved_room(room_id) and not membership.intervals
        room = None if is_hidden else self._rooms.get_many([room_id])[room_id]
        if room is None:
            raise not_in_room(room_id) if keys.is_reserved_room(room_id) else no_room(room_id)
        is_closed = room.kind == MEMBERS and not is_trusted
        if is_closed and not membership.intervals:
            raise not_in_room(room_id)
        return self.decide(change, room, membership, is_closed, now)

    def decide(self, change: Mapping[str, Any], room: Room, membership: Membership, is_closed: bool, now: int) -> By:
        """As :meth:`by`, with what it has read. Of a room that ``is_closed``, only members may write."""
        room_id, user_id = room.room_id, membership.user_id
        is_edit = change[CHANGE] == EDIT
        message = self.kept(room_id, change["key"], now)
        is_author = message is None or message["userId"] == user_id
        may_delete_all = not is_edit and room.kind == MEMBERS and effective_role(room, membership) == OWNER
        if is_author and is_edit and is_closed and not as_of(membership.intervals, times.iso(now)):
            raise not_in_room(room_id)
        if message is None:
            check_waiting(change["key"], now)
            return OWNER if may_delete_all else AUTHOR
        if message["messageType"] != TEXT:
            raise _refused(change, "is the notice of a join or leave", "the key of a text")
        if is_author:
            if is_edit:
                check_not_deleted(message)
            return AUTHOR
        if may_delete_all:
            return OWNER
        whose = "the key of your own message" if is_edit else "the key of your own message, or a room that you own"
        raise _refused(change, "is the message of another user", whose)

    def kept(self, room_id: str, key: str, now: int) -> Item | None:
        """The row of a message that readers may still see."""
        message = self._table.message(room_id, key)
        scope = ReadScope(None, partial(self._rooms.retention, room_id))
        return message if message is not None and scope.shows(message, now) else None


class ChangeGate:
    """Refuses changes that their sender may not make. Those that cannot be checked now are marked with UNCHECKED."""

    def __init__(self, rights: ChangeRights) -> None:
        self._rights = rights

    def admit(self, caller: Caller, events: Sequence[ValidatedEvent], now: int) -> Sequence[UserError | None]:
        """Why each change is refused, or ``None``, in order."""
        return [self._admit(caller, each.event, now) for each in events]

    def _admit(self, caller: Caller, change: dict[str, Any], now: int) -> UserError | None:
        is_trusted = caller.has(EVENTS_WRITE)
        try:
            change["by"] = self._rights.by(change, now, is_trusted=is_trusted)
        except StoreUnavailable as error:
            report(type(error).__name__, f"a change cannot be checked now: {error.message}")
            change |= {UNCHECKED: times.iso(now), TRUSTED: is_trusted}
        except UserError as error:
            return error
        return None


def check_waiting(key: str, now: int) -> None:
    """Check that a message which is not stored can be in a lane: its time is one that an acceptance allows."""
    if not times.iso(now - AGE_LIMIT) <= keys.time_of(key) <= times.iso(now + AHEAD_LIMIT):
        raise no_message(key)


def check_not_deleted(message: Item) -> None:
    if "deletedAt" in message:
        given = echo(message["timestampSk"])
        detail = FieldError("key", "is a deleted message", given, "the key of another message")
        raise Conflict("the message is deleted", details=[detail])


def _refused(change: Mapping[str, Any], message: str, allowed: str) -> Forbidden:
    detail = FieldError("key", message, echo(change["key"]), allowed)
    return Forbidden("you may not change this message", details=[detail])


def gate(rights: type[ChangeRights] = ChangeRights) -> ChangeGate:
    """Decides who may make a change; by default who may edit or delete a message."""
    return ChangeGate(rights(impatient_message_table(), *impatient_rooms()))
