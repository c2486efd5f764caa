"""The route of links to the attachments of a message, for those who may read it."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from headrace.api.router import Request, Route
from headrace.core.errors import NotFound
from headrace.core.fields import CanonicalTime
from headrace.features.attachments.files import ATTACHMENTS, LinkedAttachment
from headrace.features.attachments.uploads import until
from headrace.streams.chat.messages.history import ChatReading, readable_message
from headrace.streams.chat.messages.paths import MessagePath


class LinkedAttachments(TypedDict):
    """The attachments of a message; their addresses are good ``until`` a time. A deleted message has none."""

    attachments: list[LinkedAttachment]
    until: CanonicalTime


def list_attachments(chat: ChatReading, request: Request[MessagePath, None, None]) -> dict[str, Any]:
    """List the attachments of a message with new addresses to read them at. Live messages come without them."""
    message = readable_message(chat, request)
    return {"attachments": chat.history.item_of(message).get(ATTACHMENTS, []), "until": until(request.now)}


def route(scopes: tuple[str, ...]) -> Route:
    """The route, for callers with one of ``scopes``."""
    return Route(list_attachments, scopes, MessagePath, answer=LinkedAttachments, errors=(NotFound,))
