"""The routes and frames that react to a message, and take a reaction back."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from headrace.api.router import Request
from headrace.core.fields import seen, seen_form
from headrace.features.edits.routes import (
    ChangeAnswer,
    DeletionBody,
    DeletionFrame,
    answered,
    changes,
    frame,
    route,
    sent,
)
from headrace.features.reactions.reaction import KINDS, REACT, VALUE, row_place
from headrace.streams.chat.incoming import Acceptor
from headrace.streams.chat.live.frames import Sending
from headrace.streams.chat.rooms.requests import MessagePath

VALUE_LIMIT = 32
VALUE_FORM = f"an emoji, or {seen_form(VALUE_LIMIT)}"
ReactionValue = Annotated[str, *seen(VALUE_LIMIT)]
REACTIONS = changes(KINDS, row_place, VALUE)


class ReactionBody(DeletionBody):
    """A reaction to a message."""

    is_optional = False

    value: ReactionValue = Field(description=VALUE_FORM)


class ReactionFrame(DeletionFrame):
    """A message, and a reaction to it."""

    value: ReactionValue = Field(description=VALUE_FORM)


class Reacted(ChangeAnswer):
    """The answer to a frame that reacts."""

    type: Literal["reacted"]


class Unreacted(ChangeAnswer):
    """The answer to a frame that takes a reaction back."""

    type: Literal["unreacted"]


def react(acceptor: Acceptor, request: Request[MessagePath, None, ReactionBody]) -> dict[str, Any]:
    """React to a message. Everyone who may write in the room can.

    A user has one reaction to a message: it replaces the one before. Of several, the one with the latest ``timestamp``
    counts.
    """
    return sent(REACTIONS, acceptor, request, REACT)


def take_reaction_back(acceptor: Acceptor, request: Request[MessagePath, None, DeletionBody]) -> dict[str, Any]:
    """Take the caller's reaction to a message back, also one that is not stored yet."""
    return sent(REACTIONS, acceptor, request, REACT)


def react_frame(services: Sending, request: Request[None, None, ReactionFrame]) -> dict[str, Any]:
    """React to a message, in place of an earlier reaction."""
    return answered(REACTIONS, services, request, REACT, "reacted")


def unreact_frame(services: Sending, request: Request[None, None, DeletionFrame]) -> dict[str, Any]:
    """Take one's reaction to a message back."""
    return answered(REACTIONS, services, request, REACT, "unreacted")


ROUTES = {
    "receive_http": {
        "PUT /rooms/{roomId}/messages/{key}/reaction": route(react, ReactionBody),
        "DELETE /rooms/{roomId}/messages/{key}/reaction": route(take_reaction_back, DeletionBody),
    },
    "receive_frame": {
        "react": frame(react_frame, ReactionFrame, Reacted),
        "unreact": frame(unreact_frame, DeletionFrame, Unreacted),
    },
}
