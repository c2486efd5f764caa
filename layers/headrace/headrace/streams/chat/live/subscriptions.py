"""The frames about one room: subscribe, unsubscribe, and read the history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api import responses
from headrace.api.params import Params
from headrace.api.rates.rate_limiter import RateLimiter
from headrace.api.router import Request
from headrace.core.caller import Caller
from headrace.core.errors import FieldError, Forbidden, HeadraceError, echo
from headrace.core.fields import CanonicalTime, StoredId
from headrace.core.keys import STORED_ID_FORM, channel_user
from headrace.live.dynamodb import Connections
from headrace.live.hints import SubscriberHints
from headrace.live.presence import LastChecks
from headrace.live.shares import Shares
from headrace.streams.chat.live.frames import Answer
from headrace.streams.chat.messages.history import History, RoomPageRequest
from headrace.streams.chat.messages.positions import position
from headrace.streams.chat.messages.room_log import newest_tag
from headrace.streams.chat.rooms.access import RoomAccess, check_own, not_in_room
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
    """What the frames about rooms use. ``limiter`` counts the rooms of checks; ``None``: there is no limit."""

    connections: Connections
    hints: SubscriberHints
    access: RoomAccess
    history: History
    shares: Shares
    last_checks: LastChecks
    limiter: RateLimiter | None = None


def subscribe(services: Subscriptions, request: Request[None, None, RoomFrame]) -> dict[str, Any]:
    """Follow a room, or your own user.

    With ``roomId``, new messages of the room are pushed to the connection as `messages`. With ``userId``, what changes
    for your user in any room is pushed as `changes`: that you are invited, added or removed, and names, topics, roles
    and read marks.
    """
    room_id, named = request.body.followed
    scopes, errors = readable(services, request.caller, [room_id])
    _, refused = follow(services, request, scopes)
    for error in (errors | refused).values():
        raise error
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


Rights = tuple[dict[str, ReadScope], dict[str, HeadraceError]]
"""What a caller may read in rooms, and the errors of the other rooms."""


def follow(services: Subscriptions, request: Request[None, None, Any], scopes: Mapping[str, ReadScope]) -> Rights:
    """Subscribe the connection to rooms, or to the caller's ``user_channel``, with what the caller may read there.

    Access is read again after the rows are written. If a membership ends in between, either its removal deletes the
    row, or the second read sees it. Raises StoreUnavailable.
    """
    caller, context = request.caller, request.event["requestContext"]
    connection_id, connected_at = context["connectionId"], int(context["connectedAt"]) // 1000
    errors: dict[str, HeadraceError] = {**services.shares.refused(caller, list(scopes), connection_id)}
    found = {room_id: scope for room_id, scope in scopes.items() if room_id not in errors}
    rows = {room_id: _since(scope) for room_id, scope in found.items()}
    while rows:
        services.connections.subscribe(rows, connection_id, caller, connected_at)
        seen, forbidden = readable(services, caller, list(rows))
        for room_id in forbidden:
            services.connections.unsubscribe(room_id, [connection_id])
            services.hints.mark_unsubscribed(room_id)
            del found[room_id]
        services.hints.mark_changed(*seen)
        found, errors = found | seen, errors | forbidden
        rows = {room_id: _since(scope) for room_id, scope in seen.items() if _since(scope) != rows[room_id]}
    return found, errors


def readable(services: Subscriptions, caller: Caller, room_ids: Sequence[str]) -> Rights:
    """What the caller may read in rooms, which includes new messages. Raises StoreUnavailable."""
    scopes = services.access.read_scopes(caller, [each for each in room_ids if channel_user(each) is None])
    found, errors = dict[str, ReadScope](), dict[str, HeadraceError]()
    for room_id in room_ids:
        try:
            found[room_id] = _open_scope(caller, room_id, scopes)
        except Forbidden as error:
            errors[room_id] = error
    return found, errors


def _open_scope(caller: Caller, room_id: str, scopes: Mapping[str, ReadScope | None]) -> ReadScope:
    if (user_id := channel_user(room_id)) is not None:
        check_own(caller, user_id, "users follow only themselves")
        return ReadScope(None)
    if (scope := scopes[room_id]) is None:
        raise not_in_room(room_id)
    if not scope.is_open:
        allowed = "a room that you are a member of"
        detail = FieldError("roomId", "is a room that you have left", echo(room_id), allowed)
        raise Forbidden("you are not in this room any more", details=[detail])
    return scope


def _since(scope: ReadScope) -> str | None:
    """The time from which new messages may be read; ``None`` without a lower bound."""
    return scope.intervals[-1].joined_at if scope.intervals else None
