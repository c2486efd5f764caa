"""The path of a message."""

from __future__ import annotations

from pydantic import Field

from headrace.streams.chat.message_row import KEY_FORM, MessageKey
from headrace.streams.chat.rooms.requests import RoomPath


class MessagePath(RoomPath):
    """A message of a room."""

    refusal = "{field} {message}"

    key: MessageKey = Field(description=KEY_FORM)
