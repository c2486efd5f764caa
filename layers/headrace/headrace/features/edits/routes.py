"""The routes and frames that edit and delete a message, and what those of other changes have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api.error_bodies import Result, to_body
from headrace.api.params import Params
from headrace.api.rates.rate_limiter import EVENTS
from headrace.api.router import Request, Route
from headrace.core import keys, times
from headrace.core.caller import CHAT_WRITE, EVENTS_WRITE
from headrace.core.errors import Conflict, InvalidEvent, NotFound, RateLimited, RetryLaneUnavailable
from headrace.core.fields import AcceptedLane, CanonicalTime, Id, NewId, Time
from headrace.core.fields import Key as ItemKey
from headrace.core.sender import Incoming, SenderContext, ValidatedEvent, choose_time, choose_user
from headrace.core.stream import Kind, Stream
from headrace.features.edits.change import DELETE, EDIT, ID_FIELD, KINDS, PlaceOf, row_place
from headrace.streams.chat.incoming import Acceptor
from headrace.streams.chat.live.frames import Answer, Sending
from headrace.streams.chat.message_row import CHANGE, KEY_FORM, TEXT_FORM, MessageKey, MessageText
from headrace.streams.chat.rooms.requests import MessagePath
from headrace.streams.chat.stream import CHAT

WRITE = (CHAT_WRITE, EVENTS_WRITE)


class DeletionBody(Params):
    """How a deletion names itself, so that sending it again changes nothing."""

    unknown = "is not a field of this route"
    is_optional = True

    change_id: NewId | None = Field(default=None, description=keys.NEW_ID_FORM)
    timestamp: Time | None = Field(default=None, description=times.ACCEPTED_FORM)
    user_id: Id | None = Field(default=None, description=keys.ID_FORM)


class EditBody(DeletionBody):
    """A new text for a message."""

    is_optional = False

    message: MessageText = Field(description=TEXT_FORM)


class DeletionFrame(DeletionBody):
    """A message to delete, or to which to take a reaction back."""

    unknown = "is not a field of this action"
    is_optional = False

    room_id: Id = Field(description=keys.ID_FORM)
    key: MessageKey = Field(description=KEY_FORM)


class EditFrame(DeletionFrame):
    """A message, and its new text."""

    message: MessageText = Field(description=TEXT_FORM)


class AcceptedChange(TypedDict):
    """An accepted edit, deletion or reaction. It will be stored from either ``lane``, and then be in its message."""

    roomId: str
    key: ItemKey
    changeId: str
    timestamp: CanonicalTime
    lane: AcceptedLane


class ChangeAnswer(Answer, AcceptedChange, TypedDict):
    """What the answers to frames with a change have."""


class Edited(ChangeAnswer):
    """The answer to a frame that edits."""

    type: Literal["edited"]


class Deleted(ChangeAnswer):
    """The answer to a frame that deletes."""

    type: Literal["deleted"]


def changes(kinds: Mapping[str, Kind], place: PlaceOf, *fields: str) -> Stream:
    """How clients send changes of these kinds. They take the queues of chat, and its table has their rows.

    ``place`` says where the row of one is, and ``fields`` what it may have beside what all have.
    """
    return replace(CHAT, id_field=ID_FIELD, kinds=kinds, sent=lambda: Incoming(partial(_stamp, place, fields)))


def _stamp(place: PlaceOf, fields: Sequence[str], change: Any, sender: SenderContext) -> ValidatedEvent:
    """A ``change`` that a route or a frame has validated. Sent again under its id and time, it is the same."""
    given, how = change.get(ID_FIELD), change[CHANGE]
    timestamp = choose_time(sender, ID_FIELD, given, change.get("timestamp"))
    change_id = given or times.new_message_id(sender.now)
    user_id, _ = choose_user(sender, change.get("userId"), None)
    more = {name: change[name] for name in fields if name in change}
    receipt = {"roomId": change["roomId"], "key": change["key"], ID_FIELD: change_id, "timestamp": timestamp}
    tag = keys.content_tag(sender.subject, user_id, change_id, how, *(more.values() or [""]))
    event = {**receipt, CHANGE: how, "changedBy": user_id, "sender": tag, **more}
    return ValidatedEvent(event, change_id, place(event), receipt)


EDITS = changes(KINDS, row_place, "message")


def route(change: Callable[..., dict[str, Any]], body: type[DeletionBody]) -> Route:
    """The HTTP route of a change."""
    errors = (InvalidEvent, NotFound, Conflict, RetryLaneUnavailable)
    return Route(change, WRITE, MessagePath, None, body, AcceptedChange, errors, 202, limit=EVENTS)


def frame(change: Callable[..., dict[str, Any]], body: type[DeletionFrame], answer: Any) -> Route:
    """The WebSocket route of a change."""
    errors = (InvalidEvent, NotFound, RateLimited, RetryLaneUnavailable, Conflict)
    return Route(change, WRITE, body=body, answer=answer, errors=errors, limit=EVENTS)


def edit_message(acceptor: Acceptor, request: Request[MessagePath, None, EditBody]) -> dict[str, Any]:
    """Edit a text message. Only its author may.

    The message keeps its place, and shows the newest text and ``editedAt``. Of several edits, the one with the latest
    ``timestamp`` counts.
    """
    return sent(EDITS, acceptor, request, EDIT)


def delete_message(acceptor: Acceptor, request: Request[MessagePath, None, DeletionBody]) -> dict[str, Any]:
    """Delete a text message. Its author may, and owners of a ``members`` room.

    The message keeps its place without its text, and shows ``deletedAt`` and ``deletedBy``. No edit brings it back.
    """
    return sent(EDITS, acceptor, request, DELETE)


def edit_frame(services: Sending, request: Request[None, None, EditFrame]) -> dict[str, Any]:
    """Edit a text message of one's own."""
    return answered(EDITS, services, request, EDIT, "edited")


def delete_frame(services: Sending, request: Request[None, None, DeletionFrame]) -> dict[str, Any]:
    """Delete a text message of one's own, or of a ``members`` room that one owns."""
    return answered(EDITS, services, request, DELETE, "deleted")


def sent(stream: Stream, acceptor: Acceptor, request: Request[Any, None, Any], how: str) -> dict[str, Any]:
    """The answer to a request whose change is accepted. Raises the error that refuses it."""
    place = {"roomId": request.path.room_id, "key": request.path.key}
    result = _accept(stream, acceptor, request, {**place, CHANGE: how})
    if result.error is not None:
        raise result.error
    return result.to_body()


def answered(
    stream: Stream, services: Sending, request: Request[None, None, Any], how: str, answer: str
) -> dict[str, Any]:
    """The frame that answers one with a change; ``answer`` is its type if the change is accepted."""
    result = _accept(stream, services.acceptor, request, {CHANGE: how})
    if result.error is not None:
        return {"type": "error", **result.receipt, "error": to_body(result.error, request.correlation_id)}
    return {"type": answer, **result.to_body()}


def _accept(stream: Stream, acceptor: Acceptor, request: Request[Any, None, Any], more: dict[str, str]) -> Result:
    event = {**request.body.model_dump(by_alias=True, exclude_none=True), **more}
    (result,) = acceptor.accept(stream, request.caller, [event], request.correlation_id, request.meter)
    return result


ROUTES = {
    "receive_http": {
        "PATCH /rooms/{roomId}/messages/{key}": route(edit_message, EditBody),
        "DELETE /rooms/{roomId}/messages/{key}": route(delete_message, DeletionBody),
    },
    "receive_frame": {
        "editMessage": frame(edit_frame, EditFrame, Edited),
        "deleteMessage": frame(delete_frame, DeletionFrame, Deleted),
    },
}
