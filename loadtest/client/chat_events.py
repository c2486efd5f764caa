"""Chat events, their requests, their times and their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from headrace.core import times


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """One message of one user in one room.

    ``timestamp`` is UTC with six digits (``2025-11-21T10:00:58.722861Z``). ``username`` is set only for a trusted
    producer (scope ``events:write``): the user is then named in the frame and not taken from the token. Only such a
    producer may send another ``message_type``: JOIN or LEAVE.
    """

    room_id: str
    message_id: str
    timestamp: str
    user_id: str
    message: str
    username: str | None = None
    message_type: str = "TEXT"

    def event(self) -> dict[str, Any]:
        """The event as JSON, as it is sent."""
        fields = {"roomId": self.room_id, "message": self.message, "messageId": self.message_id}
        fields |= {"timestamp": self.timestamp}
        fields |= {"messageType": self.message_type} if self.message_type != "TEXT" else {}
        return fields if self.username is None else fields | {"userId": self.user_id, "username": self.username}


def post_messages(events: Sequence[Mapping[str, Any]]) -> tuple[str, Mapping[str, Any]]:
    """The path and the body that post one message to its room, or several in a batch."""
    if len(events) > 1:
        return "/messages/batch", {"events": events}
    body = {name: value for name, value in events[0].items() if name != "roomId"}
    return f"/rooms/{quote(events[0]['roomId'], safe='')}/messages", body


def iso(moment: datetime) -> str:
    """``moment`` (UTC) with six digits, so that times sort as text."""
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}Z"


def after(timestamp: str) -> str:
    """The next microsecond: the exclusive end of a window that contains ``timestamp``."""
    return times.iso(times.micros_of(timestamp) + 1)
