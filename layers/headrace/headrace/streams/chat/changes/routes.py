"""The routes and frames of changes: edit and delete a message, and react to one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NotRequired, Protocol

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api.params import Params
from headrace.api.rates.rate_limiter import EVENTS
from headrace.api.responses import RequestId
from headrace.api.router import Request, Route
from headrace.core import keys, times
from headrace.core.caller import CHAT_WRITE, EVENTS_WRITE
from headrace.core.errors import Conflict, InvalidEvent, NotFound, RateLimited, RetryLaneUnavailable, to_body
from headrace.core.fields import AcceptedLane, CanonicalTime, Id, Time
from headrace.core.fields import Key as ItemKey
from headrace.core.stream import Result
from headrace.streams.chat.change import DELETE, EDIT, KEY_FORM, REACT, Kind, MessageKey
from headrace.streams.chat.messages.paths import MessagePath
from headrace.streams.chat.stream import CHANGES, Acceptor
from headrace.streams.chat.text import TEXT_FORM, VALUE_FORM, MessageText, ReactionValue

WRITE = (CHAT_WRITE, EVENTS_WRITE)


class DeletionBody(Params):
    """How a deletion names itself, so that sending it again changes nothing."""

    unknown = "is not a field of this route"
    is_optional = True

    change_id: Id | None = Field(default=None, description=keys.ID_FORM)
    timestamp: Time | None = Field(default=None, description=times.ACCEPTED_FORM)
    user_id: Id | None = Field(default=None, description=keys.ID_FORM)


class EditBody(DeletionBody):
    """A new text for a message."""

    is_optional = False

    message: MessageText = Field(description=TEXT_FORM)


class ReactionBody(DeletionBody):
    """A reaction to a message."""

    is_optional = False

    value: ReactionValue = Field(description=VALUE_FORM)


class DeletionFrame(DeletionBody):
    """A message to delete, or to which to take a reaction back."""

    unknown = "is not a field of this action"
    is_optional = False

    room_id: Id = Field(description=keys.ID_FORM)
    key: MessageKey = Field(description=KEY_FORM)


class EditFrame(DeletionFrame):
    """A message, and its new text."""

    message: MessageText = Field(description=TEXT_FORM)


class ReactionFrame(DeletionFrame):
    """A message, and a reaction to it."""

    value: ReactionValue = Field(description=VALUE_FORM)


class AcceptedChange(TypedDict):
    """An accepted edit, deletion or reaction. It will be stored from either ``lane``, and then be in its message."""

    roomId: str
    key: ItemKey
    changeId: str
    timestamp: CanonicalTime
    lane: AcceptedLane


class _Answer(AcceptedChange):
    requestId: NotRequired[RequestId]
    correlationId: str


class Edited(_Answer):
    """The answer to a frame that edits."""

    type: Literal["edited"]


class Deleted(_Answer):
    """The answer to a frame that deletes."""

    type: Literal["deleted"]


class Reacted(_Answer):
    """The answer to a frame that reacts."""

    type: Literal["reacted"]


class Unreacted(_Answer):
    """The answer to a frame that takes a reaction back."""

    type: Literal["unreacted"]


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
    return _sent(acceptor, request, EDIT)


def delete_message(acceptor: Acceptor, request: Request[MessagePath, None, DeletionBody]) -> dict[str, Any]:
    """Delete a text message. Its author may, and owners of a ``members`` room.

    The message keeps its place without its text, and shows ``deletedAt`` and ``deletedBy``. No edit brings it back.
    """
    return _sent(acceptor, request, DELETE)


def react(acceptor: Acceptor, request: Request[MessagePath, None, ReactionBody]) -> dict[str, Any]:
    """React to a message. Everyone who may write in the room can.

    A user has one reaction to a message: it replaces the one before. Of several, the one with the latest ``timestamp``
    counts.
    """
    return _sent(acceptor, request, REACT)


def take_reaction_back(acceptor: Acceptor, request: Request[MessagePath, None, DeletionBody]) -> dict[str, Any]:
    """Take the caller's reaction to a message back, also one that is not stored yet."""
    return _sent(acceptor, request, REACT)


def edit_frame(services: _Sending, request: Request[None, None, EditFrame]) -> dict[str, Any]:
    """Edit a text message of one's own."""
    return _answered(services, request, EDIT, "edited")


def delete_frame(services: _Sending, request: Request[None, None, DeletionFrame]) -> dict[str, Any]:
    """Delete a text message of one's own, or of a ``members`` room that one owns."""
    return _answered(services, request, DELETE, "deleted")


def react_frame(services: _Sending, request: Request[None, None, ReactionFrame]) -> dict[str, Any]:
    """React to a message, in place of an earlier reaction."""
    return _answered(services, request, REACT, "reacted")


def unreact_frame(services: _Sending, request: Request[None, None, DeletionFrame]) -> dict[str, Any]:
    """Take one's reaction to a message back."""
    return _answered(services, request, REACT, "unreacted")


class _Sending(Protocol):
    @property
    def acceptor(self) -> Acceptor: ...


def _sent(acceptor: Acceptor, request: Request[Any, None, Any], kind: Kind) -> dict[str, Any]:
    result = _accept(acceptor, request, kind, {"roomId": request.path.room_id, "key": request.path.key})
    if result.error is not None:
        raise result.error
    return result.to_body()


def _answered(services: _Sending, request: Request[None, None, Any], kind: Kind, answer: str) -> dict[str, Any]:
    result = _accept(services.acceptor, request, kind, {})
    if result.error is not None:
        return {"type": "error", **result.receipt, "error": to_body(result.error, request.correlation_id)}
    return {"type": answer, **result.to_body()}


def _accept(acceptor: Acceptor, request: Request[Any, None, Any], kind: Kind, place: dict[str, str]) -> Result:
    event = {**request.body.model_dump(by_alias=True, exclude_none=True), **place, "change": kind}
    (result,) = acceptor.accept(CHANGES, request.caller, [event], request.correlation_id, request.meter)
    return result
