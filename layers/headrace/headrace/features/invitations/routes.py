"""The routes of invitations and of blocks. Those of rooms beside them join, invite, leave and decline."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

from typing_extensions import TypedDict

from headrace.api.paging.cursors import CursorSigner, Query
from headrace.api.params import UserPath
from headrace.api.rates.rate_limiter import CHANGES
from headrace.api.router import Request, Route
from headrace.core import times
from headrace.core.caller import CHAT_READ, CHAT_WRITE
from headrace.core.errors import FieldError, InvalidCursor, InvalidRequest, NotFound, Unavailable, echo
from headrace.core.fields import CanonicalTime, Cursor
from headrace.features.invitations.consent import Invitations, consent
from headrace.services.requests import cursors
from headrace.streams.chat.rooms import requests as ask
from headrace.streams.chat.rooms.access import check_own, existing
from headrace.streams.chat.rooms.members import forbidden, leave
from headrace.streams.chat.rooms.memberships import READ_LIMIT
from headrace.streams.chat.rooms.requests import InvitationBody, ListQuery, MemberPath, OtherPath, RoomBody, RoomPath
from headrace.streams.chat.rooms.routes import RoomServices, check_seat

LEAVE_SECONDS = 2.0
"""Seconds that must be left to leave one more room."""


class InvitationItem(RoomBody, InvitationBody):
    """A room that the user is invited to."""


class InvitationPage(TypedDict):
    """A page of open invitations, in the order of their room ids. Send ``next`` as ``after`` for the next page."""

    items: list[InvitationItem]
    next: Cursor | None
    hasMore: bool


class InvitedItem(InvitationBody, TypedDict):
    """A user who is invited to the room."""

    userId: str


class InvitedPage(TypedDict):
    """A page of open invitations to a room, in the order of their users. Send ``next`` as ``after``."""

    items: list[InvitedItem]
    next: Cursor | None
    hasMore: bool


class BlockBody(TypedDict):
    """A user whose invitations are refused since ``blockedAt``; ``null``: they are not refused."""

    userId: str
    blockedAt: CanonicalTime | None


class BlockPage(TypedDict):
    """A page of blocked users, in the order of their ids. Send ``next`` as ``after``; a page may have few of them."""

    items: list[BlockBody]
    next: Cursor | None
    hasMore: bool


@dataclass(frozen=True, slots=True)
class InvitationServices:
    """What the lists of a user use."""

    consent: Invitations
    cursors: CursorSigner


@functools.cache
def services() -> InvitationServices:
    return InvitationServices(consent(), cursors())


class InvitingServices(RoomServices):
    """The services of rooms, on a stage with invitations."""

    consent: Invitations


def list_invitations(services: InvitationServices, request: Request[UserPath, ListQuery, None]) -> dict[str, Any]:
    """List the rooms that the caller is invited to, in the order of their ids.

    Accept with `PUT /rooms/{roomId}/members/{userId}`, decline with `DELETE`.
    """
    user_id, query = own_id(request), request.query
    signed = Query("invitations", user_id, user_id)
    consent = services.consent
    found, more = consent.store.page(user_id, query.after(services.cursors, signed), query.limit)
    rooms = consent.rooms.table.get_many([each.room_id for each in found])
    items = [{**room.to_body(), **each.to_body()} for each, room in consent.counting(found, rooms)]
    following = services.cursors.sign(signed, "after", [found[-1].room_id]) if more else None
    return {"items": items, "next": following, "hasMore": more}


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


def list_blocked(services: InvitationServices, request: Request[UserPath, ListQuery, None]) -> dict[str, Any]:
    """List the users whose invitations the caller refuses, in the order of their ids."""
    user_id, query = own_id(request), request.query
    signed = Query("blocked", user_id, user_id)
    found, last = services.consent.store.blocked(user_id, query.after(services.cursors, signed), query.limit)
    following = None if last is None else services.cursors.sign(signed, "after", [last])
    items = [{"userId": other_id, "blockedAt": at} for other_id, at in found]
    return {"items": items, "next": following, "hasMore": last is not None}


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


def _leaving(
    request: Request[Any, Any, Any], user_id: str, room_id: str
) -> Request[MemberPath, None, ask.LeaveRequest]:
    """The request with which the user would leave a room for good."""
    # Not validated: an old room may have an id that no new one may have.
    path = MemberPath.model_construct(room_id=room_id, user_id=user_id)
    return replace(request, path=path, body=ask.LeaveRequest.model_construct(for_good=True))


def unblock(services: InvitationServices, request: Request[OtherPath, None, None]) -> dict[str, Any]:
    """Take invitations of another user again. For a user who is not blocked, nothing changes."""
    services.consent.store.unblock(own_id(request), request.path.other_id)
    return {"userId": request.path.other_id, "blockedAt": None}


def own_id(request: Request[Any, Any, Any]) -> str:
    """The user of the path, who must be the caller. Raises Forbidden."""
    user_id: str = request.path.user_id
    check_own(request.caller, user_id, "invitations are shown to their own user only")
    return user_id


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
