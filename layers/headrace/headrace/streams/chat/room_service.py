"""Creates rooms and changes memberships. Every later request sees what a call has answered.

No value that was read is written back: a read only chooses the time, or avoids a write that would change nothing. Each
write adds an element to a set (``memberships.py``), so there is no read-modify-write race.
"""

from __future__ import annotations

from typing import Any

from headrace.api.paging.cursors import CursorSigner, Query
from headrace.api.paging.request import ListRequest
from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import Conflict, FieldError, Forbidden, InvalidRequest, NotFound, StoreThrottled, echo
from headrace.core.times import Clock
from headrace.live.connections import Connections
from headrace.runtime.observability import Meter
from headrace.streams.chat.access import RoomAccess, not_in_room
from headrace.streams.chat.join_messages import JoinMessages, shown_name
from headrace.streams.chat.memberships import MEMBER, OWNER, Change, EventKind, Membership, Memberships, Role
from headrace.streams.chat.room_requests import JoinRequest, LeaveRequest, RoomRequest
from headrace.streams.chat.rooms import DIRECT, MEMBERS, OPEN, Room, Rooms

READS_PER_PAGE = 4
"""Index reads that one page may cost: more than one only for users who have left."""


class RoomService:
    """Creates rooms, joins and leaves. A caller with events:write may do it for all users and with any time."""

    def __init__(
        self,
        rooms: Rooms,
        memberships: Memberships,
        connections: Connections,
        join_messages: JoinMessages,
        clock: Clock,
    ) -> None:
        self._rooms = rooms
        self._memberships = memberships
        self._connections = connections
        self._join_messages = join_messages
        self._clock = clock

    def create(self, caller: Caller, room_id: str, request: RoomRequest, correlation_id: str, meter: Meter) -> Room:
        """The room, created or as it was; the creator of a ``members`` room has joined it.

        The room is written first, then the join of its creator, with the time and id of the room: repeating a
        request completes an interrupted one.

        Raises:
            Conflict: there is another room of this id.
        """
        trusted = caller.has(EVENTS_WRITE)
        creator = request.created_by or caller.subject
        created_at = request.created_at or times.iso(self._clock.now())
        room = self._rooms.create(Room(room_id, request.kind, request.form, created_at, creator))
        same = (room.kind, room.form) == (request.kind, request.form)
        if room.kind == MEMBERS:
            same = same and room.created_by == creator
        if not same or request.created_at not in (None, room.created_at):
            detail = FieldError("roomId", "is another room's", echo(room_id), "an id of no room, or the room as it is")
            raise Conflict("there is another room of this id", details=[detail])
        if room.kind == MEMBERS:
            self._connections.members_only(room_id)
            if room.form == DIRECT:
                self._take_seat(room, creator)
            membership = self._add(
                room, creator, "join", room.created_at, None, OWNER, self._name(caller, creator, request.username)
            )
            self._join_messages.publish(membership, "join", room.created_at, correlation_id, meter, old=trusted)
        return room

    def join(
        self, caller: Caller, room_id: str, user_id: str, request: JoinRequest, correlation_id: str, meter: Meter
    ) -> Membership:
        """The membership, with the user in the room; a user who is in it already stays so.

        Raises:
            NotFound: no such room. Forbidden: not invited, or not an owner.
            Conflict: a direct room has its two people, or the user has come and gone too often.
        """
        room = self._room(room_id)
        membership = self._memberships.get(user_id, room_id)
        trusted = caller.has(EVENTS_WRITE)
        if not trusted:
            self._check_join(caller, room, membership, request.role)
        elif request.role is not None and room.kind == OPEN:
            raise _no_roles(request.role)
        if room.form == DIRECT:
            self._take_seat(room, user_id)
        name = self._name(caller, user_id, request.username)
        if request.at is not None:
            at = request.at
            membership = self._add(room, user_id, "join", at, request.id, request.role, name)
        elif membership.is_open:
            at = membership.intervals[-1].joined_at
            if request.role not in (None, membership.role):
                membership = self._memberships.set_role(user_id, room_id, request.role or MEMBER)
        else:
            at = times.iso(membership.next_time(self._clock.now()))
            membership = self._add(room, user_id, "join", at, None, request.role or MEMBER, name)
        if any(each.joined_at == at for each in membership.intervals):
            self._join_messages.publish(membership, "join", at, correlation_id, meter, old=trusted)
        return membership

    def leave(
        self, caller: Caller, room_id: str, user_id: str, request: LeaveRequest, correlation_id: str, meter: Meter
    ) -> Membership:
        """The membership, with the user outside the room; a user who is outside already stays so.

        Raises:
            NotFound: no such room, or the user was never in it. Forbidden: another user, and the caller is no owner.
        """
        room = self._room(room_id)
        trusted = caller.has(EVENTS_WRITE)
        if not trusted and user_id != caller.subject:
            self._check_remove(caller, room, user_id)
        membership = self._memberships.get(user_id, room_id)
        if request.at is not None:
            at = request.at
            membership = self._add(room, user_id, "leave", at, request.id, None, request.username)
        elif not membership.joins:
            raise NotFound("this user was never in this room", details=[FieldError("userId", "was never in this room")])
        elif membership.is_open:
            at = times.iso(membership.next_time(self._clock.now()))
            membership = self._add(room, user_id, "leave", at, None, None, None)
        else:
            at = membership.intervals[-1].left_at or "" if membership.intervals else ""
        if room.kind == MEMBERS and not membership.is_open:
            # Also when the leave is repeated: an earlier call may have been interrupted here.
            self._connections.unsubscribe_user(room_id, user_id)
        if any(each.left_at == at for each in membership.intervals):
            self._join_messages.publish(membership, "leave", at, correlation_id, meter, old=trusted)
        return membership

    def role_of(self, room_id: str, membership: Membership) -> Role:
        """The effective role: the creator is always an owner, others only while they are in the room."""
        return OWNER if is_owner(self._room(room_id), membership) else MEMBER

    def _check_join(self, caller: Caller, room: Room, membership: Membership, role: Role | None) -> None:
        own = membership.user_id == caller.subject
        if room.kind == OPEN:
            if role is not None:
                raise _no_roles(role)
            if not own:
                raise _forbidden("in an open room everybody joins themselves")
            return
        if self._owns(caller, room):
            return
        if role is not None:
            detail = FieldError("role", "is given by owners only", role, "left out, unless you own the room")
            raise Forbidden("only an owner gives roles", details=[detail])
        if not own:
            raise _forbidden("only an owner adds others to this room")
        if not membership.is_open:
            raise _forbidden("an owner of this room has to add you")

    def _check_remove(self, caller: Caller, room: Room, user_id: str) -> None:
        if room.kind == OPEN:
            raise _forbidden("in an open room everybody leaves themselves")
        if not self._owns(caller, room):
            raise _forbidden("only an owner removes others from this room")
        if user_id == room.created_by:
            raise _forbidden("the creator of a room cannot be removed")

    def _owns(self, caller: Caller, room: Room) -> bool:
        return room.created_by == caller.subject or is_owner(room, self._memberships.get(caller.subject, room.room_id))

    def _room(self, room_id: str) -> Room:
        room = self._rooms.get(room_id)
        if room is None:
            detail = FieldError("roomId", "is no room's", echo(room_id), "a room that was created, or has a message")
            raise NotFound("there is no such room", details=[detail])
        return room

    def _take_seat(self, room: Room, user_id: str) -> None:
        if not self._rooms.take_seat(room.room_id, user_id):
            detail = FieldError("userId", "has no seat in this direct room", echo(user_id), "one of its two people")
            raise Conflict("a direct room is of two people, and it has them", details=[detail])

    def _add(
        self,
        room: Room,
        user_id: str,
        kind: EventKind,
        at: str,
        event_id: str | None,
        role: Role | None,
        username: str | None,
    ) -> Membership:
        event_id = event_id or keys.derived_id(kind, user_id, room.room_id, at)
        event = keys.membership_event(at, event_id)
        return self._memberships.add(
            Change(user_id=user_id, room_id=room.room_id, kind=kind, event=event, role=role, username=username)
        )

    def _name(self, caller: Caller, user_id: str, given: str | None) -> str | None:
        """The user's name, if the caller can know it."""
        return given or (caller.username if user_id == caller.subject else None)


def is_owner(room: Room, membership: Membership) -> bool:
    """Whether the member owns the room: its creator always does, others as owners who are in it."""
    return room.created_by == membership.user_id or (membership.role == OWNER and membership.is_open)


def _forbidden(message: str) -> Forbidden:
    return Forbidden(message, details=[FieldError("userId", "may not be changed by you")])


def _no_roles(role: Role) -> InvalidRequest:
    detail = FieldError("role", "does not fit an open room", role, "left out")
    return InvalidRequest("an open room has no roles", details=[detail])


class RoomMembers:
    """Lists the members of a room; memberships are read consistently, so users who have left are not listed."""

    def __init__(self, access: RoomAccess, rooms: Rooms, memberships: Memberships, cursors: CursorSigner) -> None:
        self._access = access
        self._rooms = rooms
        self._memberships = memberships
        self._cursors = cursors

    def page(self, caller: Caller, room_id: str, request: ListRequest) -> dict[str, Any]:
        """Some members; with ``hasMore`` there may be others behind ``next``.

        Raises:
            Forbidden: the caller may not read the room now. InvalidCursor.
        """
        if not self._access.read_scope(caller, room_id).is_open:
            raise not_in_room(room_id)
        query = Query("members", room_id, caller.subject)
        after = None
        if request.place is not None:
            (after,) = self._cursors.verify(request.place, query, "after", parts=1)
        room = self._rooms.get(room_id)
        items: list[dict[str, Any]] = []
        more = room is not None
        for _ in range(READS_PER_PAGE):
            if room is None or not more or len(items) >= request.limit:
                break
            users, more = self._memberships.users_of(room_id, after, request.limit - len(items))
            after = users[-1] if users else after
            items += [_shown(room, each) for each in self._present(room_id, users)]
        more = more and after is not None
        following = self._cursors.sign(query, "after", [after]) if more and after is not None else None
        return {"items": items, "next": following, "hasMore": more}

    def _present(self, room_id: str, users: list[str]) -> list[Membership]:
        pairs = [(user_id, room_id) for user_id in users]
        found = self._memberships.get_many(pairs) if pairs else {}
        if len(found) < len(pairs):
            raise StoreThrottled("the members cannot all be read right now; try again shortly")
        return [found[pair] for pair in pairs if found[pair].is_open]


def _shown(room: Room, membership: Membership) -> dict[str, Any]:
    return {
        "userId": membership.user_id,
        "username": shown_name(membership),
        "role": OWNER if is_owner(room, membership) else MEMBER,
        "joinedAt": membership.intervals[-1].joined_at,
    }
