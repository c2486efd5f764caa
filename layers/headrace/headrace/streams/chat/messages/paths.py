"""The path of a message."""

from __future__ import annotations

from pydantic import Field

from headrace.core.errors import FieldError, NotFound, echo
from headrace.streams.chat.message_row import KEY_FORM, MessageKey
from headrace.streams.chat.rooms.requests import RoomPath


class MessagePath(RoomPath):
    """A message of a room."""

    refusal = "{field} {message}"

    key: MessageKey = Field(description=KEY_FORM)


def no_message(key: str) -> NotFound:
    """The error for a message that does not exist."""
    detail = FieldError("key", "is not the key of a message in this room", echo(key), "the `key` of an item")
    return NotFound("there is no such message", details=[detail])
