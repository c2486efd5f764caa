"""The text of a message, and its row: its key, whether it is stored, what a deleted one has not; and its table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from headrace.core import keys
from headrace.core.errors import FieldError, NotFound, echo
from headrace.core.fields import Key, Text, accepts

TEXT_BYTES = 4096
TEXT_FORM = f"a text of at most {TEXT_BYTES} bytes in UTF-8"
CHANGE = "change"
"""The field of events that change a message, and the attribute of their rows: how they change it."""
CHANGE_KEY = "changeKey"
"""Attribute of a message that was changed: the place of the change that it shows. A later change has a higher one."""
FIRST_TEXT = "firstText"
REACTIONS_AT = "reactionsAt"
"""Attribute of a message with reactions: when what it shows of them last changed."""
SHOWN_REACTIONS = ("reactions", "moreReactions", REACTIONS_AT)
"""Attributes of a message that only its reactions give it."""
GONE_WHEN_DELETED = (FIRST_TEXT, "editedAt", "attachments", *SHOWN_REACTIONS)
"""Attributes that a deleted message does not have."""
KEPT_WHEN_DELETED = {"userId", "username", "message", "messageType", "messageId", "timestamp", "replyTo", "thread"}
KEPT_WHEN_DELETED |= {"memberId", "memberName", "bucketId", "uncheckedAt", "acceptedAt"}
"""Attributes that it keeps: who wrote it, when, and its place among others. Its ``message`` is empty."""
AWAITED = "awaited"
"""Attribute of the row under the key of a message that is not stored yet and has changes. Each change gives it another
value. Such a row has no user, so no index has it, and readers leave it out (:func:`is_message`)."""
ERASED = "3"
"""The change of a message whose author was erased. It follows every other."""
KEY_FORM = "the key of a message"


def exact_key(value: str) -> str:
    """The key of a message in its stored form.

    Raises:
        ValueError: not the key of an item.
    """
    parts = keys.parse_message_key(value)
    if parts.sender_tag is None:
        raise ValueError("has no sender tag")
    return keys.timestamp_sk(parts.timestamp, parts.message_id, parts.sender_tag)


def _message_key(value: str) -> str:
    try:
        return exact_key(value)
    except ValueError:
        raise PydanticCustomError("invalid_key", "is not the key of a message") from None


def _bounded(value: str) -> str:
    if len(value) * 4 > TEXT_BYTES and len(value.encode()) > TEXT_BYTES:
        raise PydanticCustomError("text_too_long", f"is longer than {TEXT_BYTES} bytes")
    return value


MessageKey = Annotated[Key, AfterValidator(_message_key)]
MessageText = Annotated[Text, AfterValidator(_bounded), accepts(maxLength=TEXT_BYTES)]


def is_message(row: Mapping[str, Any]) -> bool:
    """Whether a row under the key of a message is a message, and not only awaited."""
    return "userId" in row


def place_of(message: Mapping[str, Any]) -> tuple[str, str]:
    """The room and the key of the row of a message."""
    return message["roomId"], message["timestampSk"]


def may_have_more(message: Mapping[str, Any]) -> bool:
    """Whether rows beside a message may belong to it: it was changed, reacted to or deleted, or it was awaited."""
    return not message.keys().isdisjoint((CHANGE_KEY, REACTIONS_AT, AWAITED))


def no_message(key: str) -> NotFound:
    """The error for a message that does not exist."""
    detail = FieldError("key", "is not the key of a message in this room", echo(key), "the `key` of an item")
    return NotFound("there is no such message", details=[detail])
