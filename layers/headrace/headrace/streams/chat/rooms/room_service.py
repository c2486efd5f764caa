"""Creating, showing and changing rooms, and opening direct ones."""

from __future__ import annotations

from typing import Any

from headrace.api.router import Request
from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import Conflict, FieldError, Forbidden, InvalidRequest, echo
from headrace.live.connections import Connections
from headrace.streams.chat.rooms.access import RoomAccess, check_own, effective_role, not_in_room
from headrace.streams.chat.rooms.consent import Consent
from headrace.streams.chat.rooms.invitations import Invitation, invitation_body
from headrace.streams.chat.rooms.joins import Joins
from headrace.streams.chat.rooms.memberships import OWNER, Membership, Memberships, state_of
from headrace.streams.chat.rooms.requests import OtherPath, RoomChange, RoomPath, RoomRequest
from headrace.streams.chat.rooms.rooms import DIRECT, MEMBERS, CachedRooms, Room, existing


class RoomService:
    """Creates, shows and changes rooms.

    A write adds an element to a set, or changes nothing if the room exists: nothing that was read is written back. So
    a request that was interrupted is completed by repeating it. Every method may raise StoreUnavailable.
    """

    def __init__(
        self,
        rooms: CachedRooms,
        memberships: Memberships,
        access: RoomAccess,
        connections: Connections,
        consent: Consent,
        joins: Joins,
        clock: times.Clock,
    ) -> None:
        self._rooms = rooms
        self._memberships = memberships
        self._access = access
        self._connections = connections
        self._consent = consent
        self._joins = joins
        self._clock = clock

    def create(self, request: Request[RoomPath, None, RoomRequest]) -> dict[str, Any]:
        """Create a room, or complete its creation by the same user. Raises Conflict if another room has its id."""
        caller, room_id, body = request.caller, request.path.room_id, request.body
        creator = body.created_by or caller.subject
        created_at = body.created_at or times.iso(self._clock.now())
        room = self._rooms.create(Room(room_id, body.kind, body.form, created_at, creator, body.name, body.topic))
        same = (room.kind, room.form) == (body.kind, body.form)
        if room.kind == MEMBERS:
            same = same and room.created_by == creator
        if not same or body.created_at not in (None, room.created_at):
            allowed = "an unused id, or the existing room"
            detail = FieldError("roomId", "is the id of another room", echo(room_id), allowed)
            raise Conflict("another room has this id", details=[detail])
        if room.kind == MEMBERS:
            self._connections.members_only(room_id)
            name = body.username or (caller.username if creator == caller.subject else None)
            membership = self._join(caller, room, creator, room.created_at, name)
            self._joins.publish(request, membership, "join", room.created_at)
        return room.to_body()

    def show(self, caller: Caller, room_id: str) -> dict[str, Any]:
        """A room, and the caller's membership and invitation. Raises NotFound, Forbidden."""
        room = existing(self._rooms.read(room_id), room_id)
        membership = self._memberships.get(caller.subject, room_id)
        invitation = None
        if room.kind == MEMBERS and not membership.is_open:
            invitation = self._consent.invitations.get(caller.subject, room_id)
            if not membership.intervals and invitation is None:
                raise not_in_room(room_id)
        return _details(room, membership, invitation)

    def change(self, caller: Caller, room_id: str, change: RoomChange) -> dict[str, Any]:
        """Change the name or the topic of a room. Raises NotFound, Forbidden."""
        room = existing(self._rooms.read(room_id), room_id)
        if not caller.has(EVENTS_WRITE) and not self._access.owns(caller, room):
            detail = FieldError("roomId", "is a room that you do not own", echo(room_id), "a room that you own")
            raise Forbidden("only an owner changes a room", details=[detail])
        texts: dict[str, str | None] = change.model_dump(include=change.model_fields_set)
        return (self._rooms.change(room_id, texts) if texts else room).to_body()

    def open_direct(self, request: Request[OtherPath, None, None]) -> dict[str, Any]:
        """Open the direct room of two users. Raises Forbidden, InvalidRequest, Conflict."""
        caller, user_id, other_id = request.caller, request.path.user_id, request.path.other_id
        if not caller.has(EVENTS_WRITE):
            check_own(caller, user_id, "a user opens only direct rooms with themselves in them")
        if user_id == other_id:
            detail = FieldError("otherId", "is the same user", echo(other_id), "another user")
            raise InvalidRequest("a direct room has two users", details=[detail])
        room_id = keys.direct_room(user_id, other_id)
        at = times.iso(self._clock.now())
        # The tables are read first, so that only a new or incomplete room costs writes.
        own, other = (self._memberships.get(each, room_id) for each in (user_id, other_id))
        room = self._rooms.read(room_id)
        is_wish = room is not None and room.created_by == other_id
        invites = not other.joins and not is_wish and self._consent.is_needed(caller, other)
        room = room or self._rooms.create(Room(room_id, MEMBERS, DIRECT, at, user_id))
        if not own.is_open or not other.joins:
            self._connections.members_only(room_id)
        if not own.is_open:
            own = self._return_to(request, room, own)
        if not other.joins and invites:
            self._rooms.take_seat(room_id, other_id)
            self._consent.invite(caller, other, OWNER)
        elif not other.joins:
            other = self._join(caller, room, other_id, room.created_at, None)
        for membership in (own, other):
            if membership.is_open:
                self._joins.publish(request, membership, "join", membership.intervals[-1].joined_at)
        return _details(room, own, None)

    def _return_to(self, request: Request[OtherPath, None, None], room: Room, own: Membership) -> Membership:
        """Join a direct room, for the first time or again; an invitation of the other user is accepted."""
        caller, user_id = request.caller, own.user_id
        invitation = self._consent.invitations.get(user_id, room.room_id)
        is_new = invitation is None and not own.joins
        at = room.created_at if is_new else self._consent.joined_at(own, invitation)
        username = caller.username if user_id == caller.subject else None
        membership = self._join(caller, room, user_id, at, username)
        if invitation is not None:
            self._joins.publish(request, membership, "join", at, old=True)
            self._consent.invitations.remove(invitation)
        return membership

    def _join(self, caller: Caller, room: Room, user_id: str, at: str, username: str | None) -> Membership:
        """Join a room as an owner; in a direct room, this takes a seat."""
        if room.form == DIRECT:
            self._rooms.take_seat(room.room_id, user_id)
        return self._joins.add(caller, user_id, room.room_id, "join", at, role=OWNER, username=username)


def _details(room: Room, membership: Membership, invitation: Invitation | None) -> dict[str, Any]:
    intervals = membership.intervals
    own = {**state_of(intervals[-1]), "role": effective_role(room, membership)} if intervals else None
    shown = None if invitation is None else invitation_body(invitation)
    return {**room.to_body(), "membership": own, "invitation": shown}
