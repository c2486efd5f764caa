"""A user's lists of invitations and of blocked users, and the end of a block."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from typing_extensions import TypedDict

from headrace.api.paging.cursors import CursorSigner, Query
from headrace.api.params import UserPath
from headrace.api.router import Request
from headrace.core.fields import CanonicalTime, Cursor
from headrace.features.invitations.consent import Invitations, consent
from headrace.services.shared import cursors
from headrace.streams.chat.rooms.requests import InvitationBody, ListQuery, OtherPath, RoomBody
from headrace.streams.chat.rooms.rooms import check_own


class InvitationItem(RoomBody, InvitationBody):
    """A room that the user is invited to."""


class InvitationPage(TypedDict):
    """A page of open invitations, in the order of their room ids. Send ``next`` as ``after`` for the next page."""

    items: list[InvitationItem]
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


def list_blocked(services: InvitationServices, request: Request[UserPath, ListQuery, None]) -> dict[str, Any]:
    """List the users whose invitations the caller refuses, in the order of their ids."""
    user_id, query = own_id(request), request.query
    signed = Query("blocked", user_id, user_id)
    found, last = services.consent.store.blocked(user_id, query.after(services.cursors, signed), query.limit)
    following = None if last is None else services.cursors.sign(signed, "after", [last])
    items = [{"userId": other_id, "blockedAt": at} for other_id, at in found]
    return {"items": items, "next": following, "hasMore": last is not None}


def unblock(services: InvitationServices, request: Request[OtherPath, None, None]) -> dict[str, Any]:
    """Take invitations of another user again. For a user who is not blocked, nothing changes."""
    services.consent.store.unblock(own_id(request), request.path.other_id)
    return {"userId": request.path.other_id, "blockedAt": None}


def own_id(request: Request[Any, Any, Any]) -> str:
    """The user of the path, who must be the caller. Raises Forbidden."""
    user_id: str = request.path.user_id
    check_own(request.caller, user_id, "invitations are shown to their own user only")
    return user_id
