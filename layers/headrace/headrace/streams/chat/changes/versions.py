"""The route of a message's earlier texts, for its author and the owners of its ``members`` room."""

from __future__ import annotations

from itertools import islice
from typing import Any

from typing_extensions import TypedDict

from headrace.api.router import Request
from headrace.core.caller import Caller
from headrace.core.errors import FieldError, Forbidden, echo
from headrace.core.fields import CanonicalTime
from headrace.core.items import Item
from headrace.streams.chat.change import CHANGE, DELETE, FIRST_TEXT, counts
from headrace.streams.chat.changes.gate import no_message
from headrace.streams.chat.messages.history import ChatReading
from headrace.streams.chat.messages.paths import MessagePath
from headrace.streams.chat.rooms.rooms import MEMBERS, existing

EDITS = 100


class Version(TypedDict):
    """A text that a message has or had since ``timestamp``."""

    message: str
    timestamp: CanonicalTime


class Versions(TypedDict):
    """The texts of a message, oldest first: the first one, and those of the last 100 edits; none of a deleted one."""

    items: list[Version]


def readable_message(chat: ChatReading, request: Request[MessagePath, Any, None]) -> Item:
    """The row of a message that the caller may read.

    Raises:
        NotFound, Forbidden: there is no such message for the caller; StoreUnavailable.
    """
    room_id, key = request.path.room_id, request.path.key
    scope = chat.history.access.read_scope(request.caller, room_id)
    message = chat.changes.message(room_id, key)
    if message is None or not scope.shows(message, request.now):
        raise no_message(key)
    return message


def list_versions(chat: ChatReading, request: Request[MessagePath, None, None]) -> dict[str, Any]:
    """List the texts of a message, oldest first. Its author may, and owners of a ``members`` room."""
    room_id, key = request.path.room_id, request.path.key
    message = readable_message(chat, request)
    author = message["userId"]
    if author != request.caller.subject and not _is_owner(chat, request.caller, room_id):
        detail = FieldError("key", "is the message of another user", echo(key), "your own message, or a room you own")
        raise Forbidden("only its author and owners read earlier texts", details=[detail])
    rows = list(islice((row for row in chat.changes.changes_of(room_id, key) if counts(author, row)), EDITS))
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
