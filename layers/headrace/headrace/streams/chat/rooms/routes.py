"""The routes of rooms, their members, and invitations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.api.params import UserPath
from headrace.api.router import Request
from headrace.streams.chat.rooms.requests import (
    JoinRequest,
    LeaveRequest,
    ListQuery,
    MemberBody,
    MemberPath,
    OtherPath,
    RoomChange,
    RoomPath,
    RoomRequest,
    check,
)

if TYPE_CHECKING:
    # manage_rooms and manage_invitations use this module, each with its own services.
    from headrace.streams.chat.rooms.invitations import InvitationService
    from headrace.streams.chat.rooms.members import Members
    from headrace.streams.chat.rooms.room_service import RoomService


@dataclass(frozen=True, slots=True)
class RoomServices:
    """The services of manage_rooms."""

    rooms: RoomService
    members: Members


def create_room(services: RoomServices, request: Request[RoomPath, None, RoomRequest]) -> dict[str, Any]:
    """Create a room. If the same room exists, nothing changes.

    The creator of a ``members`` room joins it. Repeating the request completes an interrupted one. ``name`` and
    ``topic`` are those of a new room; an existing room keeps its name and topic. A ``members`` room of another creator
    is a conflict, also with the same body.
    """
    check(request)
    return services.rooms.create(request)


def show_room(services: RoomServices, request: Request[RoomPath, None, None]) -> dict[str, Any]:
    """Get a room, and the caller's membership in it.

    A ``members`` room is shown to users who are or were in it or are invited, with its current name and topic; an open
    room to every caller.
    """
    return services.rooms.show(request.caller, request.path.room_id)


def change_room(services: RoomServices, request: Request[RoomPath, None, RoomChange]) -> dict[str, Any]:
    """Change the name or the topic of a room. Owners may; in an open room, its creator.

    A field that is left out stays as it is, and ``null`` removes it.
    """
    return services.rooms.change(request.caller, request.path.room_id, request.body)


def open_direct_room(services: RoomServices, request: Request[OtherPath, None, None]) -> dict[str, Any]:
    """Open the direct room of two users: create it, or return it. Either user gets the same room.

    Its id begins with ``direct:``, and only this route creates such rooms. Both users own it. The other one is invited,
    unless both are in another ``members`` room. A user who has left it returns by repeating the request; the other one
    is not added again.
    """
    return services.rooms.open_direct(request)


def join(services: RoomServices, request: Request[MemberPath, None, JoinRequest]) -> MemberBody:
    """Join a room, or add a user to it as its owner. For a user who is in the room, nothing changes.

    The creator of a room stays an owner, whatever ``role`` says. A user who shares no other ``members`` room with the
    owner is **invited**. They accept by joining, as members since the invitation, or decline by leaving.
    """
    check(request)
    return services.members.join(request)


def leave(services: RoomServices, request: Request[MemberPath, None, LeaveRequest]) -> MemberBody:
    """Leave a room, or remove a user from it as its owner. For a user who has left, nothing changes.

    A role ends with a leave: an owner who is added again is a member. An open invitation is declined, or withdrawn.
    With ``forGood``, the room is in no list of the user any more, and only joining brings it back. With ``leftAt``, a
    user who was never in the room is accepted, because the join may be imported later.
    """
    check(request)
    return services.members.leave(request)


def list_members(services: RoomServices, request: Request[RoomPath, ListQuery, None]) -> dict[str, Any]:
    """List the members of a room, read consistently. If ``hasMore`` is true, ``next`` leads to the next page."""
    return services.members.page(request.caller, request.path.room_id, request.query)


def list_invitations(invitations: InvitationService, request: Request[UserPath, ListQuery, None]) -> dict[str, Any]:
    """List the rooms that the caller is invited to, in the order of their ids.

    Accept with `PUT /rooms/{roomId}/members/{userId}`, decline with `DELETE`.
    """
    return invitations.page(request.caller, request.path.user_id, request.query)


def list_blocked(invitations: InvitationService, request: Request[UserPath, ListQuery, None]) -> dict[str, Any]:
    """List the users whose invitations the caller refuses, in the order of their ids."""
    return invitations.blocked(request.caller, request.path.user_id, request.query)


def block(invitations: InvitationService, request: Request[OtherPath, None, None]) -> dict[str, Any]:
    """Refuse invitations of another user, and decline the open ones. Rooms that both are in stay as they are."""
    return invitations.block(request.caller, request.path.user_id, request.path.other_id, request.now)


def unblock(invitations: InvitationService, request: Request[OtherPath, None, None]) -> dict[str, Any]:
    """Take invitations of another user again. For a user who is not blocked, nothing changes."""
    return invitations.unblock(request.caller, request.path.user_id, request.path.other_id)
