"""The routes of members: joining and leaving rooms, and the list of a room's members.

A change is in force when it is answered. Callers with events:write may import joins and leaves, of any user and time.
"""

from __future__ import annotations

from typing import Any

from headrace.api.paging.cursors import Query
from headrace.api.router import Request
from headrace.core import times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import FieldError, Forbidden, InvalidRequest
from headrace.core.keys import shown_read_mark, time_of
from headrace.streams.chat.rooms.access import effective_role, existing, not_in_room
from headrace.streams.chat.rooms.consent import Invitation, joined_at, later_than
from headrace.streams.chat.rooms.memberships import MEMBER, Membership, Role
from headrace.streams.chat.rooms.requests import (
    JoinRequest,
    LeaveRequest,
    ListQuery,
    MemberBody,
    MemberItem,
    MemberPath,
    RoomPath,
    check,
)
from headrace.streams.chat.rooms.rooms import DIRECT, MEMBERS, OPEN, Room
from headrace.streams.chat.rooms.routes import (
    CHANNEL_MEMBERS,
    RoomServices,
    check_seat,
    end_if_blocked,
    has_seat,
    invite,
)

READS_PER_PAGE = 4
"""Index reads that one page of members may cost: more than one only for users who have left. In a `members` room, one
more tells whether it is small."""


def join(services: RoomServices, request: Request[MemberPath, None, JoinRequest]) -> MemberBody:
    """Join a room, or add a user to it as its owner. For a user who is in the room, nothing changes.

    The creator of a room stays an owner, whatever ``role`` says. A user who shares no other ``members`` room with the
    owner is **invited**. They accept by joining, as members since the invitation, or decline by leaving.
    """
    check(request)
    caller, room_id, user_id = request.caller, request.path.room_id, request.path.user_id
    body = request.body
    check_seat(services, caller, room_id)
    room = existing(services.rooms.get(room_id), room_id)
    stored = services.consent.stored(user_id, room_id, room.kind)
    membership = services.memberships.get(user_id, room_id)
    invitation = _allowed(services, caller, room, membership, stored, body.role)
    is_invited = services.consent.is_needed(caller, membership, request.now)
    if room.form == DIRECT:
        services.rooms.table.take_seat(room_id, user_id)
    if is_invited:
        return _member(room, membership, invite(services, request, room, membership, body.role))
    is_own = user_id == caller.subject
    if invitation is not None and not services.consent.accept(invitation):
        raise _uninvited(services)
    if stored is not None and not is_own:
        services.consent.withdraw(stored)
    name = body.username or (caller.username if is_own else None)
    if body.at is None and membership.is_open:
        at = membership.intervals[-1].joined_at
        if body.role not in (None, membership.role):
            membership = services.memberships.set_role(user_id, room_id, body.role or MEMBER)
            services.channels.publish([user_id], "membership", room_id)
    else:
        at, role = body.at or joined_at(membership, invitation, request.now), body.role
        if body.at is None:
            role = role or (invitation.role if invitation else MEMBER)
        membership = services.joins.add(
            caller, user_id, room_id, "join", at, event_id=body.id, role=role, username=name
        )
        end_if_blocked(services, request, membership)
    if any(each.joined_at == at for each in membership.intervals):
        services.joins.publish(request, membership, "join", at, event_id=body.id, old=stored is not None)
    if stored is not None and is_own:
        # Last, so that repeating an interrupted request completes it.
        services.consent.remove(stored)
    return _member(room, membership)


def leave(services: RoomServices, request: Request[MemberPath, None, LeaveRequest]) -> MemberBody:
    """Leave a room, or remove a user from it as its owner. For a user who is not in the room, nothing changes.

    A role ends with a leave: an owner who is added again is a member. An open invitation is declined, or withdrawn.
    With ``forGood``, the room is in no list of the user any more, and only joining brings it back. With ``leftAt``, a
    user who was never in the room is accepted, because the join may be imported later.
    """
    check(request)
    caller, room_id, user_id = request.caller, request.path.room_id, request.path.user_id
    body = request.body
    if user_id == caller.subject and not has_seat(services, caller, room_id):
        # Of a direct room whose invitation was declined before; or of any other, because no caller may see which exist.
        return _member(None, Membership(user_id, room_id))
    check_seat(services, caller, room_id)
    room = existing(services.rooms.get(room_id), room_id)
    if not caller.has(EVENTS_WRITE) and user_id != caller.subject:
        _check_remove(services, caller, room, user_id)
        if body.for_good:
            detail = FieldError("forGood", "is not for others")
            raise Forbidden("a user leaves for good themselves", details=[detail])
    invitation = services.consent.stored(user_id, room_id, room.kind)
    counts = services.consent.valid(invitation, room) is not None
    is_accepted = invitation is not None and not services.consent.withdraw(invitation)
    # Read last: an acceptance that was faster than the withdrawal has joined.
    membership = services.memberships.get(user_id, room_id)
    if body.at is not None or membership.is_open or is_accepted:
        # Of an accepted invitation the join may still follow: at the time of the invitation.
        at = body.at or times.iso(membership.next_time(later_than(invitation, request.now)))
        membership = services.joins.add(
            caller, user_id, room_id, "leave", at, event_id=body.id, username=body.username if body.at else None
        )
    else:
        at = membership.intervals[-1].left_at or "" if membership.intervals else ""
    if is_accepted and invitation is not None:
        services.consent.remove(invitation)
    if counts:
        services.channels.publish([user_id], "invitation", room_id)
    if body.for_good:
        services.memberships.leave_for_good(user_id, room_id)
    if room.kind == MEMBERS and not membership.is_open:
        # Also for a repeated leave, because an earlier call may have been interrupted here.
        services.connections.unsubscribe_user(room_id, user_id)
        services.hints.mark_unsubscribed(room_id)
    is_last = any(each.left_at == at for each in membership.intervals)
    is_published = is_last and services.joins.publish(request, membership, "leave", at, event_id=body.id)
    if body.for_good and not is_published:
        services.channels.publish([user_id], "membership", room_id)
    return _member(room, membership)


def list_members(services: RoomServices, request: Request[RoomPath, ListQuery, None]) -> dict[str, Any]:
    """List the members of a room, read consistently. If ``hasMore`` is true, ``next`` leads to the next page.

    In a `members` room that had at most 100 members, each has `readTo`: up to where they have read, or `null` if they
    have read nothing since you joined.
    """
    caller, room_id, query = request.caller, request.path.room_id, request.query
    scope = services.access.read_scope(caller, room_id)
    if not scope.is_open:
        raise not_in_room(room_id)
    signed = Query("members", room_id, caller.subject)
    after = query.after(services.cursors(), signed)
    room = existing(services.rooms.get(room_id), room_id)
    found: list[Membership] = []
    more, reads = True, 0
    while more and len(found) < query.limit and reads < READS_PER_PAGE:
        reads += 1
        users, more = services.memberships.users_of(room_id, after, query.limit - len(found))
        after = users[-1] if users else after
        read = services.memberships.get_many([(user_id, room_id) for user_id in users])
        found += [each for each in read.values() if each.is_open]
    following = services.cursors().sign(signed, "after", [after]) if more and after is not None else None
    items: list[MemberItem] = [
        {
            "userId": each.user_id,
            "username": each.shown_name,
            "role": effective_role(room, each),
            "joinedAt": each.intervals[-1].joined_at,
        }
        for each in found
    ]
    if scope.intervals is not None and not services.memberships.users_of(room_id, None, CHANNEL_MEMBERS)[1]:
        for item, each in zip(items, found, strict=True):
            item["readTo"] = _shown_mark(each, scope.intervals[-1].joined_at)
    return {"items": items, "next": following, "hasMore": following is not None}


def _shown_mark(member: Membership, since: str) -> str | None:
    """The member's read mark. One that is older than the reader's join would tell of messages before it."""
    mark = member.read_to
    return None if mark is None or time_of(mark) < since else shown_read_mark(mark)


def _allowed(
    services: RoomServices,
    caller: Caller,
    room: Room,
    membership: Membership,
    stored: Invitation | None,
    role: Role | None,
) -> Invitation | None:
    """The caller's own invitation, if it counts. Raises Forbidden if the caller may not make this user join."""
    if room.kind == OPEN and role is not None:
        detail = FieldError("role", "does not fit an open room", role, "left out")
        raise InvalidRequest("an open room has no roles", details=[detail])
    if caller.has(EVENTS_WRITE):
        return None
    own = membership.user_id == caller.subject
    if room.kind == OPEN:
        if not own:
            raise forbidden("in an open room, users join themselves")
        return None
    invitation = services.consent.valid(stored, room) if own else None
    if services.access.owns(caller, room):
        if not (own or membership.is_open or services.consent.invites):
            raise forbidden("only a client with events:write adds others to a room of this stage")
        return invitation
    if role is not None:
        detail = FieldError("role", "is given by owners only", role, "left out, unless you own the room")
        raise Forbidden("only an owner gives roles", details=[detail])
    if not own:
        raise forbidden("only an owner adds others to this room")
    if not membership.is_open and invitation is None:
        raise _uninvited(services)
    return invitation


def _uninvited(services: RoomServices) -> Forbidden:
    may = "an owner of this room has to invite you" if services.consent.invites else "this room is for its members"
    return forbidden(may)


def _check_remove(services: RoomServices, caller: Caller, room: Room, user_id: str) -> None:
    if room.kind == OPEN:
        raise forbidden("in an open room, users leave themselves")
    if not services.access.owns(caller, room):
        raise forbidden("only an owner removes others from this room")
    if user_id == room.created_by:
        raise forbidden("the creator of a room cannot be removed")


def forbidden(message: str) -> Forbidden:
    """The error for a change of another user's membership."""
    return Forbidden(message, details=[FieldError("userId", "may not be changed by you")])


def _member(room: Room | None, membership: Membership, invitation: Invitation | None = None) -> MemberBody:
    """A membership as responses show it; the role of an invited user is the one that comes with accepting."""
    own_role = MEMBER if room is None else effective_role(room, membership)
    last = membership.intervals[-1] if membership.intervals else None
    return {
        "roomId": membership.room_id,
        "userId": membership.user_id,
        "username": membership.shown_name,
        "role": invitation.role if invitation else own_role,
        "joinedAt": last.joined_at if last else None,
        "leftAt": last.left_at if last else None,
        "invitedAt": invitation.invited_at if invitation else None,
    }
