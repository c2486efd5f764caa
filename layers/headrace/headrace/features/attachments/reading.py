"""Links to the attachments of messages, in pages and by a route, for those who may read the messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from headrace.api.router import Request, Route
from headrace.core.caller import CHAT_READ
from headrace.core.errors import NotFound
from headrace.core.fields import CanonicalTime
from headrace.features.attachments.files import ATTACHMENTS
from headrace.features.attachments.store import attachments
from headrace.features.attachments.uploads import until
from headrace.streams.chat.messages.history import ChatReading, readable_message
from headrace.streams.chat.rooms.requests import MessagePath
from headrace.streams.chat.stream import LinkedAttachment


class LinkedAttachments(TypedDict):
    """The attachments of a message; their addresses are good ``until`` a time. A deleted message has none."""

    attachments: list[LinkedAttachment]
    until: CanonicalTime


def list_attachments(chat: ChatReading, request: Request[MessagePath, None, None]) -> dict[str, Any]:
    """List the attachments of a message with new addresses to read them at. Live messages come without them."""
    message = readable_message(chat, request)
    return {"attachments": chat.history.item_of(message).get(ATTACHMENTS, []), "until": until(request.now)}


def show(row: Mapping[str, Any], item: dict[str, Any]) -> None:
    """Give the attachments of an item links."""
    if ATTACHMENTS in item:
        item[ATTACHMENTS] = attachments().linked(row)


ROUTES = {
    "read_chat": {
        "GET /rooms/{roomId}/messages/{key}/attachments": Route(
            list_attachments, (CHAT_READ,), MessagePath, answer=LinkedAttachments, errors=(NotFound,)
        )
    }
}
