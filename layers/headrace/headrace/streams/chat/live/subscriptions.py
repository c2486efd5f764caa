"""The frames about rooms: subscribe, check for new messages, unsubscribe, and read the history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api import responses
from headrace.api.paging.request import PageRequest
from headrace.api.params import Params
from headrace.api.rates.rate_limiter import RateLimiter
from headrace.api.router import Request
from headrace.core.caller import Caller
from headrace.core.errors import FieldError, Forbidden, HeadraceError, NotFound, echo, mapping_of, to_body
from headrace.core.fields import StoredId
from headrace.core.keys import STORED_ID_FORM
from headrace.live.connections import Connections, SubscriberHints
from headrace.live.routes import check_subscribe, connections_of
from headrace.streams.chat.live.frames import Answer
from headrace.streams.chat.messages.history import History, Position, RoomPageRequest
from headrace.streams.chat.messages.positions import POSITION_FORM, position
from headrace.streams.chat.messages.room_log import newest_tag
from headrace.streams.chat.rooms.rooms import RoomAccess
from headrace.streams.chat.stream import RoomMessagePage

ROOMS_PER_CHECK = 20
PAGE_BYTES = responses.FRAME_BYTES - 8 * 1024
"""Bytes of items that a page in a frame may have. The rest is for the cursors and the frame's other fields."""


class RoomFrame(Params):
    """A frame about a room."""

    unknown = "is not a field of this action"

    room_id: StoredId = Field(description=STORED_ID_FORM)


class CheckFrame(Params):
    """Rooms that the connection follows, each with the position up to which the client has all messages."""

    unknown = "is not a field of this action"

    rooms: dict[StoredId, Position] = Field(
        min_length=1,
        max_length=ROOMS_PER_CHECK,
        description=f"1 to {ROOMS_PER_CHECK} room ids, each with {POSITION_FORM}",
    )


class FramePage(RoomPageRequest):
    """A page of a history that fits into a frame."""

    max_bytes: int = Field(default=PAGE_BYTES, exclude=True)


class Subscribed(Answer, TypedDict):
    """The start of a subscription. The history ``since`` its ``position`` has every message that is stored afterwards.

    ``tokenExpiresAt`` is that of `pong`.
    """

    type: Literal["subscribed"]
    roomId: str
    position: str
    tokenExpiresAt: str


class Unsubscribed(Answer, TypedDict):
    """The end of a subscription."""

    type: Literal["unsubscribed"]
    roomId: str


class RoomCheck(TypedDict):
    """Whether messages may have been stored since the position that was sent, and the position of this answer."""

    hasNew: bool
    position: str


class RoomCheckError(TypedDict):
    """Why one room could not be checked."""

    error: dict[str, Any]


class Checked(Answer, TypedDict):
    """Each room with ``hasNew`` and ``position``, or with its ``error``. ``tokenExpiresAt`` is that of `pong`.

    With ``hasNew``, messages may have been stored since the position that you sent: read the history since it.
    Otherwise, keep the new ``position``.
    """

    type: Literal["checked"]
    rooms: dict[str, RoomCheck | RoomCheckError]
    tokenExpiresAt: str


class HistoryPage(Answer, RoomMessagePage, TypedDict):
    """A page of the room, with at most 120 KB of items."""

    type: Literal["history"]
    roomId: str


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """What the frames about rooms use. ``limiter`` counts the rooms of checks; ``None``: there is no limit."""

    connections: Connections
    hints: SubscriberHints
    access: RoomAccess
    history: History
    limiter: RateLimiter | None = None


def subscribe(services: Subscriptions, request: Request[None, None, RoomFrame]) -> dict[str, Any]:
    """Follow a room: new messages are pushed to the connection."""
    room_id = request.body.room_id
    _subscribe(services, request, room_id)
    return {
        "type": "subscribed",
        "roomId": room_id,
        # Read after the subscription is stored and marked: every later frame is pushed to it.
        "position": position(request.now, newest_tag(services.history.log, room_id)),
        "tokenExpiresAt": responses.expiry(request.caller.expires_at),
    }


def check(services: Subscriptions, request: Request[None, None, CheckFrame]) -> dict[str, Any]:
    """Ask for up to 20 rooms at once whether something is new, and subscribe to those whose subscription has ended.

    Each room counts as a read. A room that does not exist is followed by the first check after its creation.
    Send it every few minutes: it also keeps an idle connection open.
    """
    found: dict[str, RoomCheck | RoomCheckError] = {}
    admitted, refusal = len(request.body.rooms), None
    if services.limiter is not None:  # the router has counted one
        admitted, refusal = services.limiter.admit(request.caller, admitted - 1, request.meter, "reads")
        admitted += 1
    for number, (room_id, since) in enumerate(request.body.rooms.items()):
        try:
            if refusal is not None and number >= admitted:
                raise refusal
            found[room_id] = _check(services, request, room_id, since)
        except HeadraceError as error:
            if mapping_of(error).status == 500:
                raise
            found[room_id] = {"error": to_body(error)}
    return {"type": "checked", "rooms": found, "tokenExpiresAt": responses.expiry(request.caller.expires_at)}


def unsubscribe(services: Subscriptions, request: Request[None, None, RoomFrame]) -> dict[str, Any]:
    """Stop following a room."""
    room_id = request.body.room_id
    services.connections.unsubscribe(room_id, [request.event["requestContext"]["connectionId"]])
    services.hints.mark_unsubscribed(room_id)
    return {"type": "unsubscribed", "roomId": room_id}


def history(services: Subscriptions, request: Request[None, FramePage, RoomFrame]) -> dict[str, Any]:
    """Read a page of a room's messages, as with ``GET /rooms/{roomId}/messages``, of at most 120 KB."""
    room_id = request.body.room_id
    page = services.history.room(request.caller, room_id, request.query, request.query.since)
    return {"type": "history", "roomId": room_id, **page.to_body()}


def _subscribe(services: Subscriptions, request: Request[None, None, Any], room_id: str) -> None:
    """Subscribe the connection to a room. Raises Forbidden, RateLimited, StoreUnavailable.

    Access is checked again after the row is written. If the membership ends in between, either its removal deletes
    the row, or the second check sees it.
    """
    caller, context = request.caller, request.event["requestContext"]
    connection_id, connected_at = context["connectionId"], int(context["connectedAt"]) // 1000
    since, written = _readable_since(services, caller, room_id), False
    check_subscribe(services.connections, caller, room_id, connection_id)
    while not written:
        services.connections.subscribe(room_id, connection_id, caller, connected_at, since)
        try:
            now = _readable_since(services, caller, room_id)
        except Forbidden:
            services.connections.unsubscribe(room_id, [connection_id])
            services.hints.mark_unsubscribed(room_id)
            raise
        since, written = now, now == since
    services.hints.mark_subscribed(room_id)


def _check(services: Subscriptions, request: Request[None, None, Any], room_id: str, since: int) -> RoomCheck:
    """Subscribe the connection if it is not subscribed, and find out whether a room has messages since a position."""
    caller, connection_id = request.caller, request.event["requestContext"]["connectionId"]
    is_subscribed = connection_id in connections_of(services.connections, caller, room_id)
    if not is_subscribed and services.access.exists(room_id):
        _subscribe(services, request, room_id)
    try:
        page = services.history.room(caller, room_id, PageRequest(limit=1), since)
    except NotFound:  # a room may be followed before it exists
        return {"hasNew": False, "position": position(request.now)}
    return {"hasNew": bool(page.items) or page.has_more, "position": str(page.position)}


def _readable_since(services: Subscriptions, caller: Caller, room_id: str) -> str | None:
    """The time from which the caller may read new messages; ``None`` without a lower bound."""
    scope = services.access.read_scope(caller, room_id)
    if not scope.is_open:
        allowed = "a room that you are a member of"
        detail = FieldError("roomId", "is a room that you have left", echo(room_id), allowed)
        raise Forbidden("you are not in this room any more", details=[detail])
    return scope.intervals[-1].joined_at if scope.intervals else None
