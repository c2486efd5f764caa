"""The actions of the WebSocket API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api import responses
from headrace.api.params import HEAD_FIELDS, Params, event_list, own_fields
from headrace.api.router import Request
from headrace.core import times
from headrace.core.errors import HeadraceError, mapping_of, to_body
from headrace.core.fields import StoredId
from headrace.core.json import Encoded, encode
from headrace.core.keys import STORED_ID_FORM
from headrace.streams.chat.messages.positions import POSITION_FORM, position
from headrace.streams.chat.messages.requests import Position, RoomPageRequest
from headrace.streams.chat.stream import CHAT, Acceptor, MessageItem, RoomMessagePage

if TYPE_CHECKING:
    # Only read_frame follows rooms and reads history, of the functions that use this module.
    from headrace.streams.chat.live.subscriptions import Subscriptions

BATCH_LIMIT = 100
ROOMS_PER_CHECK = 20
PAGE_BYTES = responses.FRAME_BYTES - 8 * 1024
"""Bytes of items that a page in a frame may have. The rest is for the cursors and the frame's other fields."""

FrameRequest = Request[None, None, Any]


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


class Answer(TypedDict):
    """An answer; ``requestId`` is the frame's, if it had one, and ``correlationId`` that of the server's log lines."""

    requestId: NotRequired[str | int | float]
    correlationId: str


class Ack(Answer):
    """An accepted message. ``lane`` is ``main`` or ``retry``; in both lanes it will be stored."""

    type: Literal["ack"]
    roomId: str
    messageId: str
    timestamp: str
    lane: Literal["main", "retry"]


class Acks(Answer):
    """One result per event, in the order sent; in an answer of over 128 KB, errors have no ``details``."""

    type: Literal["acks"]
    results: list[dict[str, Any]]


class Pong(Answer):
    """The server's time. The connection's token is good until ``tokenExpiresAt``, or longer if it was renewed."""

    type: Literal["pong"]
    time: str
    tokenExpiresAt: str


class Subscribed(Answer):
    """The start of a subscription. The history ``since`` its ``position`` has every message that is stored afterwards.

    ``tokenExpiresAt`` is that of `pong`.
    """

    type: Literal["subscribed"]
    roomId: str
    position: str
    tokenExpiresAt: str


class Unsubscribed(Answer):
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


class Checked(Answer):
    """Each room with ``hasNew`` and ``position``, or with its ``error``. ``tokenExpiresAt`` is that of `pong`.

    With ``hasNew``, messages may have been stored since the position that you sent: read the history since it.
    Otherwise, keep the new ``position``.
    """

    type: Literal["checked"]
    rooms: dict[str, RoomCheck | RoomCheckError]
    tokenExpiresAt: str


class HistoryPage(Answer, RoomMessagePage):
    """A page of the room, with at most 120 KB of items."""

    type: Literal["history"]
    roomId: str


class Messages(TypedDict):
    """New messages of a room, pushed after ``subscribe``. Their ``position`` is good for a read mark.

    With ``missed``, earlier messages were not pushed: read the history since your own position. With ``tokenExpiring``,
    the connection's token expires within 5 minutes: send `authenticate`.
    """

    type: Literal["messages"]
    roomId: str
    position: NotRequired[str]
    missed: NotRequired[Literal[True]]
    tokenExpiring: NotRequired[Literal[True]]
    items: list[MessageItem]


def connection_of(request: FrameRequest) -> tuple[str, int]:
    """The id of the connection, and when it was opened (epoch seconds)."""
    context = request.event["requestContext"]
    return context["connectionId"], int(context["connectedAt"]) // 1000


def send_message(acceptor: Acceptor, request: FrameRequest) -> dict[str, Any]:
    """Send one message; its fields are those of the frame."""
    (result,) = acceptor.accept(
        CHAT, request.caller, [own_fields(request.content)], request.correlation_id, request.meter
    )
    if result.error is not None:
        return {"type": "error", **result.receipt, "error": to_body(result.error, request.correlation_id)}
    return {"type": "ack", **result.to_body()}


def send_batch(acceptor: Acceptor, request: FrameRequest) -> dict[str, Any]:
    """Send up to 100 messages in one frame, with one result for each, in the order sent."""
    events = event_list(request.content, BATCH_LIMIT, HEAD_FIELDS)
    results = acceptor.accept(CHAT, request.caller, events, request.correlation_id, request.meter)
    bodies = [result.to_body() for result in results]
    encoded = encode(bodies)
    if len(encoded.encode()) > responses.FRAME_BYTES - responses.HEAD_BYTES:
        encoded = encode([_without_details(body) for body in bodies])
    return {"type": "acks", "results": Encoded(encoded)}


def _without_details(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "error": {**result["error"], "details": []}} if "error" in result else result


def ping(_acceptor: Acceptor, request: FrameRequest) -> dict[str, Any]:
    """Get the server's time."""
    return {
        "type": "pong",
        "time": times.iso(request.now),
        "tokenExpiresAt": responses.expiry(request.caller.expires_at),
    }


def subscribe(subscriptions: Subscriptions, request: Request[None, None, RoomFrame]) -> dict[str, Any]:
    """Follow a room: new messages are pushed to the connection."""
    room_id = request.body.room_id
    subscriptions.subscribe(request.caller, room_id, *connection_of(request))
    return {
        "type": "subscribed",
        "roomId": room_id,
        "position": position(request.now),
        "tokenExpiresAt": responses.expiry(request.caller.expires_at),
    }


def check(subscriptions: Subscriptions, request: Request[None, None, CheckFrame]) -> dict[str, Any]:
    """Ask for up to 20 rooms at once whether something is new, and subscribe to those whose subscription has ended.

    Send it every few minutes: it also keeps an idle connection open.
    """
    found: dict[str, RoomCheck | RoomCheckError] = {}
    for room_id, since in request.body.rooms.items():
        try:
            found[room_id] = subscriptions.check(request, room_id, since)
        except HeadraceError as error:
            if mapping_of(error).status == 500:
                raise
            found[room_id] = {"error": to_body(error)}
    return {"type": "checked", "rooms": found, "tokenExpiresAt": responses.expiry(request.caller.expires_at)}


def unsubscribe(subscriptions: Subscriptions, request: Request[None, None, RoomFrame]) -> dict[str, Any]:
    """Stop following a room."""
    room_id = request.body.room_id
    subscriptions.unsubscribe(room_id, request.event["requestContext"]["connectionId"])
    return {"type": "unsubscribed", "roomId": room_id}


def history(subscriptions: Subscriptions, request: Request[None, FramePage, RoomFrame]) -> dict[str, Any]:
    """Read a page of a room's messages, as with ``GET /rooms/{roomId}/messages``, of at most 120 KB."""
    room_id = request.body.room_id
    page = subscriptions.history.room(request.caller, room_id, request.query, request.query.since)
    return {"type": "history", "roomId": room_id, **page.to_body()}
