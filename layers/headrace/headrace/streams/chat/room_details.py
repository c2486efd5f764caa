"""The routes about one room as a whole: read it, change its name and topic, open the direct room of two users."""

from __future__ import annotations

from typing import Any

from headrace.api.router import Request
from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE
from headrace.core.errors import FieldError, Forbidden, InvalidRequest, echo
from headrace.streams.chat.access import no_room, not_in_room
from headrace.streams.chat.room_requests import DirectPath, RoomChange, RoomPath
from headrace.streams.chat.room_service import RoomService, effective_role
from headrace.streams.chat.tables.memberships import OWNER, Membership, state_of
from headrace.streams.chat.tables.rooms import DIRECT, MEMBERS, Room


def show_room(service: RoomService, request: Request[RoomPath, None, None]) -> dict[str, Any]:
    """Get a room, and the caller's membership in it.

    A ``members`` room is shown to users who are or were in it, with its current name and topic; an open room to every
    caller.

    Raises:
        NotFound: no such room.
        Forbidden: a `members` room that the caller was never in.
    """
    room = _read(service, request.path.room_id)
    membership = service.memberships.get(request.caller.subject, room.room_id)
    if room.kind == MEMBERS and not membership.intervals:
        raise not_in_room(room.room_id)
    return _details(room, membership)


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


def open_direct_room(service: RoomService, request: Request[DirectPath, None, None]) -> dict[str, Any]:
    """Open the direct room of two users: create it, or return it. Either user gets the same room.

    Its id begins with ``direct:``, and only this route creates such rooms. Both users own it. A user who has left it
    returns by repeating the request; the other one is not added again.

    Raises:
        Forbidden: the first user is not the caller.
        InvalidRequest: both are the same user.
    """
    user_id, other_id = request.path.user_id, request.path.other_id
    if user_id != request.caller.subject and not request.caller.has(EVENTS_WRITE):
        detail = FieldError("userId", "is not you", echo(user_id), "the token's own user")
        raise Forbidden("a user opens only direct rooms with themselves in them", details=[detail])
    if user_id == other_id:
        detail = FieldError("otherId", "is the same user", echo(other_id), "another user")
        raise InvalidRequest("a direct room has two users", details=[detail])
    room_id = keys.direct_room(user_id, other_id)
    at = times.iso(service.clock.now())
    # The tables are read first, so that only a new or incomplete room costs writes.
    room = service.rooms.read(room_id) or service.rooms.create(Room(room_id, MEMBERS, DIRECT, at, user_id))
    own, other = (service.memberships.get(each, room_id) for each in (user_id, other_id))
    if not own.is_open or not other.joins:
        service.connections.members_only(room_id)
    if not own.is_open:
        joined_at = times.iso(own.next_time(service.clock.now())) if own.joins else room.created_at
        own = _join(service, request, room, user_id, joined_at)
    if not other.joins:
        other = _join(service, request, room, other_id, room.created_at)
    for membership in (own, other):
        if membership.is_open:
            service.publish(request, membership, "join", membership.intervals[-1].joined_at)
    return _details(room, own)


def _join(
    service: RoomService, request: Request[DirectPath, None, None], room: Room, user_id: str, at: str
) -> Membership:
    service.take_seat(room, user_id)
    username = request.caller.username if user_id == request.caller.subject else None
    return service.add(room, user_id, "join", at, None, OWNER, username)


def _read(service: RoomService, room_id: str) -> Room:
    """The room from the table, with its name and topic."""
    room = service.rooms.read(room_id)
    if room is None:
        raise no_room(room_id)
    return room


def _details(room: Room, membership: Membership) -> dict[str, Any]:
    intervals = membership.intervals
    own = {**state_of(intervals[-1]), "role": effective_role(room, membership)} if intervals else None
    return {**room.to_body(), "membership": own}
