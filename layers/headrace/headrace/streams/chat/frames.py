"""What the actions of the WebSocket API ask for, and the frames that answer them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from headrace.api import responses
from headrace.api.bodies import event_list
from headrace.api.paging.request import PageRequest
from headrace.api.params import Params, read
from headrace.api.router import Request
from headrace.core import times
from headrace.core.errors import to_body
from headrace.core.fields import Id
from headrace.core.keys import ID_FORM
from headrace.ingest.acceptor import Acceptor
from headrace.streams.chat.stream import CHAT
from headrace.streams.chat.subscriptions import Subscriptions

BATCH_LIMIT = 100
PAGE_BYTES = responses.FRAME_BYTES - 8 * 1024
"""Of a page's items in a frame; the rest is for the cursors and the frame's other fields."""
NOT_OF_A_PAGE = frozenset({"action", "requestId", "roomId"})

FrameRequest = Request[None, None, Any]


class RoomFrame(Params):
    """A frame about a room; its other fields are the action's."""

    unknown = ""

    room_id: Id = Field(description=ID_FORM)


class FramePage(PageRequest):
    """A page of a history that fits into a frame."""

    max_bytes: int = Field(default=PAGE_BYTES, exclude=True)


def send_message(acceptor: Acceptor, request: FrameRequest) -> dict[str, Any]:
    """Accept the one event that the frame itself is."""
    (result,) = acceptor.accept(CHAT, request.caller, [request.content], request.correlation_id, request.meter)
    if result.error is not None:
        return responses.frame_error(request.request_id, to_body(result.error), **result.receipt)
    return responses.ack(request.request_id, result.to_body())


def send_batch(acceptor: Acceptor, request: FrameRequest) -> dict[str, Any]:
    """Accept the frame's events, with one result each."""
    events = event_list(request.content, BATCH_LIMIT)
    results = acceptor.accept(CHAT, request.caller, events, request.correlation_id, request.meter)
    return responses.acks(request.request_id, [result.to_body() for result in results])


def ping(_acceptor: Acceptor, request: FrameRequest) -> dict[str, Any]:
    """Answer with the server's time."""
    return responses.pong(request.request_id, times.iso(request.now))


def subscribe(subscriptions: Subscriptions, request: Request[None, None, RoomFrame]) -> dict[str, Any]:
    """Send new messages of the room to the connection; the answer has the key of the newest message before that."""
    context, room_id = request.event["requestContext"], request.body.room_id
    connected_at = int(context["connectedAt"]) // 1000
    newest = subscriptions.subscribe(request.caller, room_id, context["connectionId"], connected_at)
    return responses.subscribed(request.request_id, room_id, newest)


def unsubscribe(subscriptions: Subscriptions, request: Request[None, None, RoomFrame]) -> dict[str, Any]:
    """Send no more messages of the room to the connection."""
    room_id = request.body.room_id
    subscriptions.unsubscribe(room_id, request.event["requestContext"]["connectionId"])
    return responses.unsubscribed(request.request_id, room_id)


def history(subscriptions: Subscriptions, request: Request[None, None, RoomFrame]) -> dict[str, Any]:
    """A page of the room, as ``GET /rooms/{roomId}/messages`` answers it, cut to what a frame holds."""
    room_id = request.body.room_id
    wanted = read(FramePage, {name: each for name, each in request.content.items() if name not in NOT_OF_A_PAGE})
    page = subscriptions.history.room(request.caller, room_id, wanted or FramePage())
    return responses.history(request.request_id, room_id, page.text())
