"""The route of a message's earlier texts, for its author and the owners of its ``members`` room."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import islice
from typing import Any

from typing_extensions import TypedDict

from headrace.api.router import Request, Route
from headrace.core.caller import CHAT_READ, Caller
from headrace.core.errors import FieldError, Forbidden, NotFound, echo
from headrace.core.fields import CanonicalTime
from headrace.features.edits.change import DELETE, counts
from headrace.features.edits.dynamodb import DynamoChanges
from headrace.services.messages import messages_table_name
from headrace.services.reading import reading
from headrace.services.shared import dynamodb
from headrace.streams.chat.message_row import CHANGE, FIRST_TEXT
from headrace.streams.chat.messages.history import ChatReading, readable_message
from headrace.streams.chat.rooms.access import existing
from headrace.streams.chat.rooms.requests import MessagePath
from headrace.streams.chat.rooms.rooms import MEMBERS

EDITS = 100


class Version(TypedDict):
    """A text that a message has or had since ``timestamp``."""

    message: str
    timestamp: CanonicalTime


class Versions(TypedDict):
    """The texts of a message, oldest first: the first one, and those of the last 100 edits; none of a deleted one."""

    items: list[Version]


@dataclass(frozen=True, slots=True)
class VersionServices:
    """Messages that callers may read, and their edits."""

    chat: ChatReading
    changes: DynamoChanges


def list_versions(services: VersionServices, request: Request[MessagePath, None, None]) -> dict[str, Any]:
    """List the texts of a message, oldest first. Its author may, and owners of a ``members`` room."""
    room_id, key = request.path.room_id, request.path.key
    chat = services.chat
    message = readable_message(chat, request)
    author = message["userId"]
    if author != request.caller.subject and not _is_owner(chat, request.caller, room_id):
        detail = FieldError("key", "is the message of another user", echo(key), "your own message, or a room you own")
        raise Forbidden("only its author and owners read earlier texts", details=[detail])
    rows = list(islice((row for row in services.changes.changes_of(room_id, key) if counts(author, row)), EDITS))
    if "deletedAt" in message or any(row[CHANGE] == DELETE for row in rows):
        return {"items": []}
    sent_at = message["timestamp"]  # an edit's clock can be behind
    edits = [{"message": row["message"], "timestamp": max(row["timestamp"], sent_at)} for row in rows]
    first = {"message": message.get(FIRST_TEXT, message["message"]), "timestamp": sent_at}
    return {"items": [first, *reversed(edits)]}


def _is_owner(chat: ChatReading, caller: Caller, room_id: str) -> bool:
    """Whether the caller owns the room now. An open room has no owners."""
    room = existing(chat.rooms.get(room_id), room_id)
    return room.kind == MEMBERS and chat.history.access.owns(caller, room)


@functools.cache
def services() -> VersionServices:
    return VersionServices(reading(), DynamoChanges(dynamodb(), messages_table_name(), "messages"))


ROUTES = {
    "read_chat": {
        "GET /rooms/{roomId}/messages/{key}/versions": Route(
            list_versions, (CHAT_READ,), MessagePath, answer=Versions, errors=(NotFound,), services=services
        )
    }
}
