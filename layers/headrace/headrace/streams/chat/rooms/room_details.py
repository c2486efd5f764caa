"""The routes about one room: read it, change its name and topic, list its members, open a direct room."""

from __future__ import annotations

from typing import Any

from headrace.api.paging.cursors import Query
from headrace.api.router import Request
from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE
from headrace.core.errors import FieldError, Forbidden, InvalidRequest, StoreThrottled, echo
from headrace.streams.chat.rooms.access import check_own, no_room, not_in_room
from headrace.streams.chat.rooms.invitations import Invitation, invitation_body
from headrace.streams.chat.rooms.join_messages import shown_name
from headrace.streams.chat.rooms.memberships import OWNER, Membership, state_of
from headrace.streams.chat.rooms.requests import ListQuery, OtherPath, RoomChange, RoomPath
from headrace.streams.chat.rooms.room_service import RoomService, effective_role
from headrace.streams.chat.rooms.rooms import DIRECT, MEMBERS, Room


def show_room(service: RoomService, request: Request[RoomPath, None, None]) -> dict[str, Any]:
    """Get a room, and the caller's membership in it.

    A ``members`` room is shown to users who are or were in it or are invited, with its current name and topic; an open
    room to every caller.

    Raises:
        NotFound: no such room.
        Forbidden: a `members` room that the caller was never in and is not invited to.
    """
    room = _read(service, request.path.room_id)
    membership = service.memberships.get(request.caller.subject, room.room_id)
    invitation = None
    if room.kind == MEMBERS and not membership.is_open:
        invitation = service.consent.invitations.get(request.caller.subject, room.room_id)
        if not membership.intervals and invitation is None:
            raise not_in_room(room.room_id)
    return _details(room, membership, invitation)


def change_room(service: RoomService, request: Request[RoomPath, None, RoomChange]) -> dict[str, Any]:
    """Change the name or the topic of a room. Owners may; in an open room, its creator.

    A field that is left out stays as it is, and ``null`` removes it.

    Raises:
        NotFound: no such room.
        Forbidden: the caller does not own the room.
    """
    caller, body = request.caller, request.body
    room = _read(service, request.path.room_id)
    if not caller.has(EVENTS_WRITE) and not service.owns(caller, room):
        detail = FieldError("roomId", "is a room that you do not own", echo(room.room_id), "a room that you own")
        raise Forbidden("only an owner changes a room", details=[detail])
    texts: dict[str, str | None] = body.model_dump(include=body.model_fields_set)
    return (service.rooms.change(room.room_id, texts) if texts else room).to_body()


def open_direct_room(service: RoomService, request: Request[OtherPath, None, None]) -> dict[str, Any]:
    """Open the direct room of two users: create it, or return it. Either user gets the same room.

    Its id begins with ``direct:``, and only this route creates such rooms. Both users own it. The other one is invited,
    unless both are in another ``members`` room. A user who has left it returns by repeating the request; the other one
    is not added again.

    Raises:
        Forbidden: the first user is not the caller, or the other one blocks the caller.
        InvalidRequest: both are the same user.
        Conflict: the other user has too many open invitations from the caller.
    """
    user_id, other_id = request.path.user_id, request.path.other_id
    if not request.caller.has(EVENTS_WRITE):
        check_own(request.caller, user_id, "a user opens only direct rooms with themselves in them")
    if user_id == other_id:
        detail = FieldError("otherId", "is the same user", echo(other_id), "another user")
        raise InvalidRequest("a direct room has two users", details=[detail])
    room_id = keys.direct_room(user_id, other_id)
    at = times.iso(service.clock.now())
    # The tables are read first, so that only a new or incomplete room costs writes.
    own, other = (service.memberships.get(each, room_id) for each in (user_id, other_id))
    room = service.rooms.read(room_id)
    is_wish = room is not None and room.created_by == other_id
    invites = not other.joins and not is_wish and service.consent.is_needed(request.caller, other)
    room = room or service.rooms.create(Room(room_id, MEMBERS, DIRECT, at, user_id))
    if not own.is_open or not other.joins:
        service.connections.members_only(room_id)
    if not own.is_open:
        own = _return_to(service, request, room, own)
    if not other.joins:
        service.take_seat(room, other_id)
        if invites:
            service.consent.invite(request.caller, other, OWNER)
        else:
            other = _join(service, request, room, other_id, room.created_at)
    for membership in (own, other):
        if membership.is_open:
            service.publish(request, membership, "join", membership.intervals[-1].joined_at)
    return _details(room, own, None)


def _return_to(
    service: RoomService, request: Request[OtherPath, None, None], room: Room, own: Membership
) -> Membership:
    """Join, for the first time or again; an invitation of the other user is accepted."""
    invitation = service.consent.invitations.get(own.user_id, room.room_id)
    at = service.joined_at(own, invitation) if invitation is not None or own.joins else room.created_at
    membership = _join(service, request, room, own.user_id, at)
    if invitation is not None:
        service.publish(request, membership, "join", at, old=True)
        service.consent.invitations.remove(invitation)
    return membership


def _join(
    service: RoomService, request: Request[OtherPath, None, None], room: Room, user_id: str, at: str
) -> Membership:
    service.take_seat(room, user_id)
    username = request.caller.username if user_id == request.caller.subject else None
    return service.add(request, room, user_id, "join", at, None, OWNER, username)


def _read(service: RoomService, room_id: str) -> Room:
    """The room from the table, with its name and topic."""
    room = service.rooms.read(room_id)
    if room is None:
        raise no_room(room_id)
    return room


def _details(room: Room, membership: Membership, invitation: Invitation | None) -> dict[str, Any]:
    intervals = membership.intervals
    own = {**state_of(intervals[-1]), "role": effective_role(room, membership)} if intervals else None
    return {
        **room.to_body(),
        "membership": own,
        "invitation": None if invitation is None else invitation_body(invitation),
    }


READS_PER_PAGE = 4
"""Index reads that one page of members may cost: more than one only for users who have left."""


def list_members(service: RoomService, request: Request[RoomPath, ListQuery, None]) -> dict[str, Any]:
    """List the members of a room, read consistently. If ``hasMore`` is true, ``next`` leads to the next page.

    Raises:
        NotFound: no such room.
        Forbidden: the caller may not read the room now. InvalidCursor.
    """
    caller, room_id, query = request.caller, request.path.room_id, request.query
    if not service.access.read_scope(caller, room_id).is_open:
        raise not_in_room(room_id)
    signed = Query("members", room_id, caller.subject)
    after = query.after(service.cursors, signed)
    room = service.room(room_id)
    items: list[dict[str, Any]] = []
    more, reads = True, 0
    while more and len(items) < query.limit and reads < READS_PER_PAGE:
        reads += 1
        users, more = service.memberships.users_of(room_id, after, query.limit - len(items))
        after = users[-1] if users else after
        items += [_listed(room, each) for each in _present(service, room_id, users)]
    following = service.cursors.sign(signed, "after", [after]) if more and after is not None else None
    return {"items": items, "next": following, "hasMore": following is not None}


def _present(service: RoomService, room_id: str, users: list[str]) -> list[Membership]:
    pairs = [(user_id, room_id) for user_id in users]
    found = service.memberships.get_many(pairs) if pairs else {}
    if len(found) < len(pairs):
        raise StoreThrottled("the members cannot all be read right now; try again shortly")
    return [found[pair] for pair in pairs if found[pair].is_open]


def _listed(room: Room, membership: Membership) -> dict[str, Any]:
    return {
        "userId": membership.user_id,
        "username": shown_name(membership),
        "role": effective_role(room, membership),
        "joinedAt": membership.intervals[-1].joined_at,
    }
