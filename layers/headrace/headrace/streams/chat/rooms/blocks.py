"""The route that blocks a user: it declines their invitations, and leaves the rooms into which they put the caller."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.api.router import Request
from headrace.core import times
from headrace.core.errors import FieldError, InvalidRequest, Unavailable, echo
from headrace.streams.chat.rooms.invitations import own_id
from headrace.streams.chat.rooms.members import leave
from headrace.streams.chat.rooms.memberships import READ_LIMIT
from headrace.streams.chat.rooms.requests import LeaveRequest, MemberPath, OtherPath
from headrace.streams.chat.rooms.routes import RoomServices

LEAVE_SECONDS = 2.0
"""Seconds that must be left to leave one more room."""


def block(services: RoomServices, request: Request[OtherPath, None, None]) -> dict[str, Any]:
    """Refuse invitations of another user, decline the open ones, and leave for good the rooms into which they put you.

    Rooms that you joined yourself stay as they are. If the answer is 503, the user is blocked; repeat the request to
    leave the other rooms.
    """
    user_id, other_id = own_id(request), request.path.other_id
    if user_id == other_id:
        detail = FieldError("otherId", "is the same user", echo(other_id), "another user")
        raise InvalidRequest("a user blocks others only", details=[detail])
    at, declined = services.consent.invitations.block(user_id, other_id, times.iso(request.now))
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
