"""The frames about one room: subscribe, unsubscribe, and read the history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api import responses
from headrace.api.params import Params
from headrace.api.rates.rate_limiter import RateLimiter
from headrace.api.router import Request
from headrace.core.caller import Caller
from headrace.core.errors import FieldError, Forbidden, echo
from headrace.core.fields import CanonicalTime, StoredId
from headrace.core.keys import STORED_ID_FORM, channel_user
from headrace.live.connections import Connections, SubscriberHints
from headrace.live.presence import LastChecks
from headrace.live.routes import check_subscribe
from headrace.live.shares import Shares
from headrace.streams.chat.live.frames import Answer
from headrace.streams.chat.messages.history import History, RoomPageRequest
from headrace.streams.chat.messages.positions import position
from headrace.streams.chat.messages.room_log import newest_tag
from headrace.streams.chat.rooms.access import RoomAccess, check_own
from headrace.streams.chat.rooms.read_scope import ReadScope
from headrace.streams.chat.stream import PositionText, RoomMessagePage

PAGE_BYTES = responses.FRAME_BYTES - 8 * 1024
"""Bytes of items that a page in a frame may have. The rest is for the cursors and the frame's other fields."""


class RoomFrame(Params):
    """A frame about a room."""

    unknown = "is not a field of this action"

    room_id: StoredId = Field(description=STORED_ID_FORM)

    @property
    def followed(self) -> tuple[str, dict[str, str]]:
        """The room, or what else is followed, and the field that names it in the answer."""
        return self.room_id, {"roomId": self.room_id}


class FramePage(RoomPageRequest):
    """A page of a history that fits into a frame."""

    max_bytes: int = Field(default=PAGE_BYTES, exclude=True)


class Subscribed(Answer, TypedDict):
    """The start of a subscription. The history ``since`` its ``position`` has every message that is stored afterwards.

    It has the ``roomId`` or the ``userId`` of the frame. ``tokenExpiresAt`` is that of `pong`.
    """

    type: Literal["subscribed"]
    roomId: NotRequired[str]
    userId: NotRequired[str]
    position: PositionText
    tokenExpiresAt: CanonicalTime


class Unsubscribed(Answer, TypedDict):
    """The end of a subscription. It has the ``roomId`` or the ``userId`` of the frame."""

    type: Literal["unsubscribed"]
    roomId: NotRequired[str]
    userId: NotRequired[str]


class HistoryPage(Answer, RoomMessagePage, TypedDict):
    """A page of the room, with at most 120 KB of items."""

    type: Literal["history"]
    roomId: str


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """What the frames about rooms use. ``limiter`` counts the rooms of checks; ``None``: there is no limit.

    Without ``shares``, the indexes are read for each subscription, and without ``last_checks`` no times are kept.
    """

    connections: Connections
    hints: SubscriberHints
    access: RoomAccess
    history: History
    limiter: RateLimiter | None = None
    shares: Shares | None = None
    last_checks: LastChecks | None = None


def subscribe(services: Subscriptions, request: Request[None, None, RoomFrame]) -> dict[str, Any]:
    """Follow a room, or your own user.

    With ``roomId``, new messages of the room are pushed to the connection as `messages`. With ``userId``, what changes
    for your user in any room is pushed as `changes`: that you are invited, added or removed, and names, topics, roles
    and read marks.
    """
    room_id, named = request.body.followed
    follow(services, request, room_id)
    return {
        "type": "subscribed",
        **named,
        # Read after the subscription is stored and marked: every later frame is pushed to it.
        "position": position(request.now, newest_tag(services.history.log, room_id)),
        "tokenExpiresAt": responses.expiry(request.caller.expires_at),
    }


def unsubscribe(services: Subscriptions, request: Request[None, None, RoomFrame]) -> dict[str, Any]:
    """Stop following a room, or your own user."""
    room_id, named = request.body.followed
    services.connections.unsubscribe(room_id, [request.event["requestContext"]["connectionId"]])
    # Without waiting, also where the mark cannot be set: the user may read what is still pushed for a second.
    services.hints.mark_changed(room_id)
    return {"type": "unsubscribed", **named}


def history(services: Subscriptions, request: Request[None, FramePage, RoomFrame]) -> dict[str, Any]:
    """Read a page of a room's messages, as with ``GET /rooms/{roomId}/messages``, of at most 120 KB."""
    room_id = request.body.room_id
    page = services.history.room(request.caller, room_id, request.query, request.query.since)
    return {"type": "history", "roomId": room_id, **page.to_body()}


def follow(services: Subscriptions, request: Request[None, None, Any], room_id: str) -> ReadScope:
    """Subscribe the connection to a room, or to the caller's ``user_channel``; what the caller may read there.

    Access is checked again after the row is written. If the membership ends in between, either its removal deletes
    the row, or the second check sees it. Raises Forbidden, RateLimited, StoreUnavailable.
    """
    caller, context = request.caller, request.event["requestContext"]
    connection_id, connected_at = context["connectionId"], int(context["connectedAt"]) // 1000
    scope = readable(services, caller, room_id)
    if services.shares is None or not services.shares.is_small(caller, room_id, connection_id):
        check_subscribe(services.connections, caller, room_id, connection_id)
    while True:
        services.connections.subscribe(room_id, connection_id, caller, connected_at, _since(scope))
        before = scope
        try:
            scope = readable(services, caller, room_id)
        except Forbidden:
            services.connections.unsubscribe(room_id, [connection_id])
            services.hints.mark_unsubscribed(room_id)
            raise
        if _since(scope) == _since(before):
            services.hints.mark_changed(room_id)
            return scope


def readable(services: Subscriptions, caller: Caller, room_id: str) -> ReadScope:
    """What the caller may read in a room, which includes new messages. Raises Forbidden, StoreUnavailable."""
    user_id = channel_user(room_id)
    if user_id is not None:
        check_own(caller, user_id, "users follow only themselves")
        return ReadScope(None)
    scope = services.access.read_scope(caller, room_id)
    if not scope.is_open:
        allowed = "a room that you are a member of"
        detail = FieldError("roomId", "is a room that you have left", echo(room_id), allowed)
        raise Forbidden("you are not in this room any more", details=[detail])
    return scope


def _since(scope: ReadScope) -> str | None:
    """The time from which new messages may be read; ``None`` without a lower bound."""
    return scope.intervals[-1].joined_at if scope.intervals else None
