"""The routes beside those of rooms: who is invited to one, and blocking a user."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from typing_extensions import TypedDict

from headrace.api.paging.cursors import Query
from headrace.api.rates.rate_limiter import CHANGES
from headrace.api.router import Request, Route
from headrace.core import times
from headrace.core.caller import CHAT_READ, CHAT_WRITE
from headrace.core.errors import FieldError, InvalidCursor, InvalidRequest, NotFound, Unavailable, echo
from headrace.core.fields import Cursor
from headrace.features.invitations.consent import Invitations
from headrace.features.invitations.lists import BlockBody, own_id
from headrace.streams.chat.rooms.members import forbidden, leave
from headrace.streams.chat.rooms.memberships import READ_LIMIT
from headrace.streams.chat.rooms.requests import (
    InvitationBody,
    LeaveRequest,
    ListQuery,
    MemberPath,
    OtherPath,
    RoomPath,
)
from headrace.streams.chat.rooms.rooms import existing
from headrace.streams.chat.rooms.routes import RoomServices, check_seat

LEAVE_SECONDS = 2.0
"""Seconds that must be left to leave one more room."""


class InvitedItem(InvitationBody, TypedDict):
    """A user who is invited to the room."""

    userId: str


class InvitedPage(TypedDict):
    """A page of open invitations to a room, in the order of their users. Send ``next`` as ``after``."""

    items: list[InvitedItem]
    next: Cursor | None
    hasMore: bool


class InvitingServices(RoomServices):
    """The services of rooms, on a stage with invitations."""

    consent: Invitations


def list_invited(services: InvitingServices, request: Request[RoomPath, ListQuery, None]) -> dict[str, Any]:
    """List the open invitations to a room, in the order of their users. Owners may; a page may have few of them.

    Withdraw one with `DELETE /rooms/{roomId}/members/{userId}`.
    """
    caller, room_id, query = request.caller, request.path.room_id, request.query
    check_seat(services, caller, room_id)
    room = existing(services.rooms.get(room_id), room_id)
    if not services.access.owns(caller, room):
        raise forbidden("only an owner sees who is invited to this room")
    signed = Query("invited", room_id, caller.subject)
    after = query.after(services.cursors(), signed)
    found, last = services.consent.store.of_room(room_id, after, query.limit)
    items = [
        {"userId": each.user_id, **each.to_body()}
        for each, _ in services.consent.counting(found, {room_id: room}, for_owners=True)
    ]
    following = None if last is None else services.cursors().sign(signed, "after", [last])
    return {"items": items, "next": following, "hasMore": following is not None}


def block(services: InvitingServices, request: Request[OtherPath, None, None]) -> dict[str, Any]:
    """Refuse invitations of another user, decline the open ones, and leave for good the rooms into which they put you.

    Rooms that you joined yourself stay as they are. If the answer is 503, the user is blocked; repeat the request to
    leave the other rooms.
    """
    user_id, other_id = own_id(request), request.path.other_id
    if user_id == other_id:
        detail = FieldError("otherId", "is the same user", echo(other_id), "another user")
        raise InvalidRequest("a user blocks others only", details=[detail])
    at, declined = services.consent.store.block(user_id, other_id, times.iso(request.now))
    for room_id in declined:
        services.channels.publish([user_id], "invitation", room_id)
    rooms, _ = services.memberships.rooms_of(user_id, READ_LIMIT)
    for membership in rooms:
        # Also rooms that were left: an earlier request may have been interrupted.
        if membership.added_by == other_id:
            if request.seconds_left < LEAVE_SECONDS:
                raise Unavailable("the user is blocked; repeat the request to leave the other rooms")
            leave(services, _leaving(request, user_id, membership.room_id))
    return {"userId": other_id, "blockedAt": at}


def _leaving(request: Request[Any, Any, Any], user_id: str, room_id: str) -> Request[MemberPath, None, LeaveRequest]:
    """The request with which the user would leave a room for good."""
    # Not validated: an old room may have an id that no new one may have.
    path = MemberPath.model_construct(room_id=room_id, user_id=user_id)
    return replace(request, path=path, body=LeaveRequest.model_construct(for_good=True))


ROUTES = {
    "manage_rooms": {
        "GET /rooms/{roomId}/invitations": Route(
            list_invited, (CHAT_READ,), RoomPath, query=ListQuery, answer=InvitedPage, errors=(InvalidCursor, NotFound)
        ),
        "PUT /users/{userId}/blocked/{otherId}": Route(
            block, (CHAT_WRITE,), OtherPath, answer=BlockBody, limit=CHANGES
        ),
    }
}
