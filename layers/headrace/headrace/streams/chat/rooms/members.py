"""Joining and leaving rooms, and the list of a room's members. A change is in force when it is answered."""

from __future__ import annotations

from typing import Any

from headrace.api.paging.cursors import CursorSigner, Query
from headrace.api.router import Request
from headrace.core import times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import FieldError, Forbidden, InvalidRequest, NotFound, StoreThrottled
from headrace.live.connections import Connections
from headrace.streams.chat.rooms.access import RoomAccess, effective_role, not_in_room
from headrace.streams.chat.rooms.consent import Consent
from headrace.streams.chat.rooms.invitations import Invitation
from headrace.streams.chat.rooms.joins import Joins
from headrace.streams.chat.rooms.memberships import MEMBER, Membership, Memberships, Role
from headrace.streams.chat.rooms.requests import JoinRequest, LeaveRequest, ListQuery, MemberBody, MemberPath
from headrace.streams.chat.rooms.rooms import DIRECT, MEMBERS, OPEN, CachedRooms, Room, existing

READS_PER_PAGE = 4
"""Index reads that one page of members may cost: more than one only for users who have left."""


class Members:
    """Lets users join and leave rooms. A caller with events:write may import joins and leaves: of any user and time.

    Reads choose the time of a change, or save a write that would change nothing. Every method may raise
    StoreUnavailable.
    """

    def __init__(
        self,
        rooms: CachedRooms,
        memberships: Memberships,
        access: RoomAccess,
        connections: Connections,
        consent: Consent,
        joins: Joins,
        cursors: CursorSigner,
        clock: times.Clock,
    ) -> None:
        self._rooms = rooms
        self._memberships = memberships
        self._access = access
        self._connections = connections
        self._consent = consent
        self._joins = joins
        self._cursors = cursors
        self._clock = clock

    def join(self, request: Request[MemberPath, None, JoinRequest]) -> MemberBody:
        """Join a room, or add or invite a user. Raises NotFound, Forbidden, Conflict, InvalidRequest."""
        caller, room_id, user_id = request.caller, request.path.room_id, request.path.user_id
        body = request.body
        room = existing(self._rooms.get(room_id), room_id)
        membership = self._memberships.get(user_id, room_id)
        invitation = self._allowed(caller, room, membership, body.role)
        is_invited = self._consent.is_needed(caller, membership)
        if room.form == DIRECT:
            self._rooms.take_seat(room_id, user_id)
        if is_invited:
            return _member(room, membership, self._consent.invite(caller, membership, body.role or MEMBER))
        name = body.username or (caller.username if user_id == caller.subject else None)
        if body.at is None and membership.is_open:
            at = membership.intervals[-1].joined_at
            if body.role not in (None, membership.role):
                membership = self._memberships.set_role(user_id, room_id, body.role or MEMBER)
        else:
            at, role = body.at or self._consent.joined_at(membership, invitation), body.role
            if body.at is None:
                role = role or (invitation.role if invitation else MEMBER)
            membership = self._joins.add(
                caller, user_id, room_id, "join", at, event_id=body.id, role=role, username=name
            )
        if any(each.joined_at == at for each in membership.intervals):
            self._joins.publish(request, membership, "join", at, event_id=body.id, old=invitation is not None)
        if invitation is not None:
            # Last, so that repeating an interrupted request completes it.
            self._consent.invitations.remove(invitation)
        return _member(room, membership)

    def leave(self, request: Request[MemberPath, None, LeaveRequest]) -> MemberBody:
        """Leave a room, or remove a user. Raises NotFound, Forbidden."""
        caller, room_id, user_id = request.caller, request.path.room_id, request.path.user_id
        body = request.body
        room = existing(self._rooms.get(room_id), room_id)
        if not caller.has(EVENTS_WRITE) and user_id != caller.subject:
            self._check_remove(caller, room, user_id)
            if body.for_good:
                detail = FieldError("forGood", "is not for others")
                raise Forbidden("a user leaves for good themselves", details=[detail])
        membership = self._memberships.get(user_id, room_id)
        declined = body.at is None and self._consent.declined(room, membership)
        if body.at is not None or membership.is_open:
            at = body.at or times.iso(membership.next_time(self._clock.now()))
            membership = self._joins.add(
                caller, user_id, room_id, "leave", at, event_id=body.id, username=body.username if body.at else None
            )
        elif membership.joins or declined:
            at = membership.intervals[-1].left_at or "" if membership.intervals else ""
        else:
            raise NotFound("this user was never in this room", details=[FieldError("userId", "was never in this room")])
        if body.for_good:
            self._memberships.leave_for_good(user_id, room_id)
        if room.kind == MEMBERS and not membership.is_open:
            # Also for a repeated leave, because an earlier call may have been interrupted here.
            self._connections.unsubscribe_user(room_id, user_id)
        if any(each.left_at == at for each in membership.intervals):
            self._joins.publish(request, membership, "leave", at, event_id=body.id)
        return _member(room, membership)

    def page(self, caller: Caller, room_id: str, query: ListQuery) -> dict[str, Any]:
        """A page of the users who are in the room, read consistently. Raises NotFound, Forbidden, InvalidCursor."""
        if not self._access.read_scope(caller, room_id).is_open:
            raise not_in_room(room_id)
        signed = Query("members", room_id, caller.subject)
        after = query.after(self._cursors, signed)
        room = existing(self._rooms.get(room_id), room_id)
        found: list[Membership] = []
        more, reads = True, 0
        while more and len(found) < query.limit and reads < READS_PER_PAGE:
            reads += 1
            users, more = self._memberships.users_of(room_id, after, query.limit - len(found))
            after = users[-1] if users else after
            found += self._present(room_id, users)
        following = self._cursors.sign(signed, "after", [after]) if more and after is not None else None
        items = [
            {
                "userId": each.user_id,
                "username": each.shown_name,
                "role": effective_role(room, each),
                "joinedAt": each.intervals[-1].joined_at,
            }
            for each in found
        ]
        return {"items": items, "next": following, "hasMore": following is not None}

    def _present(self, room_id: str, users: list[str]) -> list[Membership]:
        """The memberships of those of ``users`` who are in the room."""
        pairs = [(user_id, room_id) for user_id in users]
        found = self._memberships.get_many(pairs) if pairs else {}
        if len(found) < len(pairs):
            raise StoreThrottled("the members cannot all be read right now; try again shortly")
        return [found[pair] for pair in pairs if found[pair].is_open]

    def _allowed(self, caller: Caller, room: Room, membership: Membership, role: Role | None) -> Invitation | None:
        """The caller's own invitation, if there is one. Raises Forbidden if the caller may not make this user join."""
        if room.kind == OPEN and role is not None:
            detail = FieldError("role", "does not fit an open room", role, "left out")
            raise InvalidRequest("an open room has no roles", details=[detail])
        if caller.has(EVENTS_WRITE):
            return None
        own = membership.user_id == caller.subject
        if room.kind == OPEN:
            if not own:
                raise _forbidden("in an open room, users join themselves")
            return None
        invitation = self._consent.invitations.get(caller.subject, room.room_id) if own else None
        if self._access.owns(caller, room):
            return invitation
        if role is not None:
            detail = FieldError("role", "is given by owners only", role, "left out, unless you own the room")
            raise Forbidden("only an owner gives roles", details=[detail])
        if not own:
            raise _forbidden("only an owner adds others to this room")
        if not membership.is_open and invitation is None:
            raise _forbidden("an owner of this room has to invite you")
        return invitation

    def _check_remove(self, caller: Caller, room: Room, user_id: str) -> None:
        if room.kind == OPEN:
            raise _forbidden("in an open room, users leave themselves")
        if not self._access.owns(caller, room):
            raise _forbidden("only an owner removes others from this room")
        if user_id == room.created_by:
            raise _forbidden("the creator of a room cannot be removed")


def _forbidden(message: str) -> Forbidden:
    return Forbidden(message, details=[FieldError("userId", "may not be changed by you")])


def _member(room: Room, membership: Membership, invitation: Invitation | None = None) -> MemberBody:
    """A membership as responses show it."""
    last = membership.intervals[-1] if membership.intervals else None
    return {
        "roomId": membership.room_id,
        "userId": membership.user_id,
        "username": membership.shown_name,
        "role": effective_role(room, membership),
        "joinedAt": last.joined_at if last else None,
        "leftAt": last.left_at if last else None,
        "invitedAt": invitation.invited_at if invitation else None,
    }
