"""Creating, joining and leaving rooms, with the messages of joins and leaves. A change is in force when it is answered.

Each write adds an element to a set (``tables/memberships.py``) and never writes back a value that was read, so there is
no read-modify-write race. Reads only choose the time of a change, or save a write that would change nothing.
"""

from __future__ import annotations

from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.router import Request
from headrace.core import times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import Conflict, FieldError, Forbidden, InvalidRequest, NotFound, echo
from headrace.live.connections import Connections
from headrace.streams.chat.rooms.access import RoomAccess, no_room
from headrace.streams.chat.rooms.consent import Consent
from headrace.streams.chat.rooms.fold import membership_event
from headrace.streams.chat.rooms.invitations import Invitation
from headrace.streams.chat.rooms.join_messages import JoinMessages, event_id_of, shown_name
from headrace.streams.chat.rooms.memberships import MEMBER, OWNER, Change, EventKind, Membership, Memberships, Role
from headrace.streams.chat.rooms.requests import (
    JoinRequest,
    LeaveRequest,
    MemberBody,
    MemberPath,
    RoomPath,
    RoomRequest,
    check,
)
from headrace.streams.chat.rooms.rooms import DIRECT, MEMBERS, OPEN, CachedRooms, Room


class RoomService:
    """Rooms and memberships. A caller with events:write may add and remove every user, with any time.

    Every method may raise StoreUnavailable.
    """

    def __init__(
        self,
        rooms: CachedRooms,
        memberships: Memberships,
        access: RoomAccess,
        connections: Connections,
        consent: Consent,
        join_messages: JoinMessages,
        cursors: CursorSigner,
        clock: times.Clock,
    ) -> None:
        self.rooms = rooms
        self.memberships = memberships
        self.access = access
        self.connections = connections
        self.consent = consent
        self._join_messages = join_messages
        self.cursors = cursors
        self.clock = clock

    def create(self, request: Request[RoomPath, None, RoomRequest]) -> dict[str, Any]:
        """Create a room. If the same room exists, nothing changes.

        The creator of a ``members`` room joins it. Repeating the request completes an interrupted one. ``name`` and
        ``topic`` are those of a new room; an existing room keeps its name and topic. A ``members`` room of another
        creator is a conflict, also with the same body.

        Raises:
            Conflict: another room has this id.
        """
        check(request)
        caller, room_id, body = request.caller, request.path.room_id, request.body
        creator = body.created_by or caller.subject
        created_at = body.created_at or times.iso(self.clock.now())
        room = self.rooms.create(Room(room_id, body.kind, body.form, created_at, creator, body.name, body.topic))
        same = (room.kind, room.form) == (body.kind, body.form)
        if room.kind == MEMBERS:
            same = same and room.created_by == creator
        if not same or body.created_at not in (None, room.created_at):
            detail = FieldError(
                "roomId", "is the id of another room", echo(room_id), "an unused id, or the existing room"
            )
            raise Conflict("another room has this id", details=[detail])
        if room.kind == MEMBERS:
            self.connections.members_only(room_id)
            if room.form == DIRECT:
                self.take_seat(room, creator)
            name = _name(caller, creator, body.username)
            membership = self.add(request, room, creator, "join", room.created_at, None, OWNER, name)
            self.publish(request, membership, "join", room.created_at)
        return room.to_body()

    def join(self, request: Request[MemberPath, None, JoinRequest]) -> MemberBody:
        """Join a room, or add a user to it as its owner. For a user who is in the room, nothing changes.

        The creator of a room stays an owner, whatever ``role`` says. A user who shares no other ``members`` room with
        the owner is **invited**. They accept by joining, as members since the invitation, or decline by leaving.

        Raises:
            NotFound: no such room.
            Forbidden: not invited, not an owner, or blocked by the user.
            Conflict: a direct room has two users, or the user has too many open invitations from the caller.
        """
        check(request)
        caller, user_id, body = request.caller, request.path.user_id, request.body
        room = self.room(request.path.room_id)
        membership = self.memberships.get(user_id, room.room_id)
        invitation = self._allowed(caller, room, membership, body.role)
        is_invited = self.consent.is_needed(caller, membership)
        if room.form == DIRECT:
            self.take_seat(room, user_id)
        if is_invited:
            return member_of(room, membership, self.consent.invite(caller, membership, body.role or MEMBER))
        name = _name(caller, user_id, body.username)
        if body.at is not None:
            at = body.at
            membership = self.add(request, room, user_id, "join", at, body.id, body.role, name)
        elif membership.is_open:
            at = membership.intervals[-1].joined_at
            if body.role not in (None, membership.role):
                membership = self.memberships.set_role(user_id, room.room_id, body.role or MEMBER)
        else:
            at = self.joined_at(membership, invitation)
            role = body.role or (invitation.role if invitation else MEMBER)
            membership = self.add(request, room, user_id, "join", at, None, role, name)
        if any(each.joined_at == at for each in membership.intervals):
            self.publish(request, membership, "join", at, event_id=body.id, old=invitation is not None)
        if invitation is not None:
            # Last, so that repeating an interrupted request completes it.
            self.consent.invitations.remove(invitation)
        return member_of(room, membership)

    def leave(self, request: Request[MemberPath, None, LeaveRequest]) -> MemberBody:
        """Leave a room, or remove a user from it as its owner. For a user who has left, nothing changes.

        A role ends with a leave: an owner who is added again is a member. An open invitation is declined, or withdrawn.
        With ``forGood``, the room is in no list of the user any more, and only joining brings it back. With ``leftAt``,
        a user who was never in the room is accepted, because the join may be imported later.

        Raises:
            NotFound: no such room, or the user was never in it and is not invited.
            Forbidden: another user, and the caller is no owner; or ``forGood`` for another user.
        """
        check(request)
        caller, user_id, body = request.caller, request.path.user_id, request.body
        room = self.room(request.path.room_id)
        if not caller.has(EVENTS_WRITE) and user_id != caller.subject:
            self._check_remove(caller, room, user_id)
            if body.for_good:
                raise Forbidden(
                    "a user leaves for good themselves", details=[FieldError("forGood", "is not for others")]
                )
        membership = self.memberships.get(user_id, room.room_id)
        declined = body.at is None and self.consent.declined(room, membership)
        if body.at is not None:
            at = body.at
            membership = self.add(request, room, user_id, "leave", at, body.id, None, body.username)
        elif membership.is_open:
            at = times.iso(membership.next_time(self.clock.now()))
            membership = self.add(request, room, user_id, "leave", at, None, None, None)
        elif membership.joins or declined:
            at = membership.intervals[-1].left_at or "" if membership.intervals else ""
        else:
            raise NotFound("this user was never in this room", details=[FieldError("userId", "was never in this room")])
        if body.for_good:
            self.memberships.leave_for_good(user_id, room.room_id)
        if room.kind == MEMBERS and not membership.is_open:
            # Also for a repeated leave, because an earlier call may have been interrupted here.
            self.connections.unsubscribe_user(room.room_id, user_id)
        if any(each.left_at == at for each in membership.intervals):
            self.publish(request, membership, "leave", at, event_id=body.id)
        return member_of(room, membership)

    def joined_at(self, membership: Membership, invitation: Invitation | None) -> str:
        """The time of a join now: the server's, or that of the invitation that it accepts."""
        since = self.clock.now() if invitation is None else times.micros_of(invitation.invited_at)
        return times.iso(membership.next_time(since))

    def _allowed(self, caller: Caller, room: Room, membership: Membership, role: Role | None) -> Invitation | None:
        """The caller's own invitation, if there is one. Raises Forbidden if the caller may not make this user join."""
        if room.kind == OPEN and role is not None:
            raise _no_roles(role)
        if caller.has(EVENTS_WRITE):
            return None
        asks = room.kind == MEMBERS and membership.user_id == caller.subject
        invitation = self.consent.invitations.get(caller.subject, room.room_id) if asks else None
        self._check_join(caller, room, membership, role, is_invited=invitation is not None)
        return invitation

    def _check_join(
        self, caller: Caller, room: Room, membership: Membership, role: Role | None, *, is_invited: bool
    ) -> None:
        own = membership.user_id == caller.subject
        if room.kind == OPEN:
            if not own:
                raise _forbidden("in an open room, users join themselves")
            return
        if self.owns(caller, room):
            return
        if role is not None:
            detail = FieldError("role", "is given by owners only", role, "left out, unless you own the room")
            raise Forbidden("only an owner gives roles", details=[detail])
        if not own:
            raise _forbidden("only an owner adds others to this room")
        if not membership.is_open and not is_invited:
            raise _forbidden("an owner of this room has to invite you")

    def _check_remove(self, caller: Caller, room: Room, user_id: str) -> None:
        if room.kind == OPEN:
            raise _forbidden("in an open room, users leave themselves")
        if not self.owns(caller, room):
            raise _forbidden("only an owner removes others from this room")
        if user_id == room.created_by:
            raise _forbidden("the creator of a room cannot be removed")

    def owns(self, caller: Caller, room: Room) -> bool:
        """Whether the caller owns the room now."""
        return room.created_by == caller.subject or is_owner(room, self.memberships.get(caller.subject, room.room_id))

    def room(self, room_id: str) -> Room:
        """The room; its name and topic may be missing. Raises NotFound."""
        if (room := self.rooms.get(room_id)) is None:
            raise no_room(room_id)
        return room

    def take_seat(self, room: Room, user_id: str) -> None:
        """Take a seat of a direct room. Raises Conflict if both are taken."""
        if not self.rooms.take_seat(room.room_id, user_id):
            detail = FieldError("userId", "has no seat in this direct room", echo(user_id), "one of its two users")
            raise Conflict("a direct room has two users, and both seats are taken", details=[detail])

    def add(
        self,
        request: Request[Any, Any, Any],
        room: Room,
        user_id: str,
        kind: EventKind,
        at: str,
        event_id: str | None,
        role: Role | None,
        username: str | None,
    ) -> Membership:
        """Add a join or leave. Returns the new membership."""
        event = membership_event(at, event_id or event_id_of(kind, request.caller, user_id, room.room_id, at))
        return self.memberships.add(
            Change(user_id=user_id, room_id=room.room_id, kind=kind, event=event, role=role, username=username)
        )

    def publish(
        self,
        request: Request[Any, Any, Any],
        membership: Membership,
        kind: EventKind,
        at: str,
        *,
        event_id: str | None = None,
        old: bool = False,
    ) -> None:
        """Publish the message of the caller's join or leave: see :class:`JoinMessages`."""
        self._join_messages.publish(
            request.caller, membership, kind, at, event_id, request.correlation_id, request.meter, old=old
        )


def _name(caller: Caller, user_id: str, given: str | None) -> str | None:
    """The user's name, if the caller can know it."""
    return given or (caller.username if user_id == caller.subject else None)


def is_owner(room: Room, membership: Membership) -> bool:
    """Whether the member owns the room: its creator always does, others while they are in it with the role."""
    return room.created_by == membership.user_id or (membership.role == OWNER and membership.is_open)


def _forbidden(message: str) -> Forbidden:
    return Forbidden(message, details=[FieldError("userId", "may not be changed by you")])


def _no_roles(role: Role) -> InvalidRequest:
    detail = FieldError("role", "does not fit an open room", role, "left out")
    return InvalidRequest("an open room has no roles", details=[detail])


def effective_role(room: Room, membership: Membership) -> Role:
    """The effective role: the creator is always an owner, others only while they are in the room."""
    return OWNER if is_owner(room, membership) else MEMBER


def member_of(room: Room, membership: Membership, invitation: Invitation | None = None) -> MemberBody:
    """A membership as responses show it."""
    last = membership.intervals[-1] if membership.intervals else None
    return {
        "roomId": membership.room_id,
        "userId": membership.user_id,
        "username": shown_name(membership),
        "role": effective_role(room, membership),
        "joinedAt": last.joined_at if last else None,
        "leftAt": last.left_at if last else None,
        "invitedAt": invitation.invited_at if invitation else None,
    }
