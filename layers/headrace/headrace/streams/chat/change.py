"""The event of an edit, a deletion or a reaction, its row, and what a message shows after its edits and deletions.

    {"roomId": "kitchen", "key": "2026-11-22T10:00:00.000000Z#m-1#fpmansl7byak", "change": "edit", "message": "Hello"}

The rows of a room's edits and deletions are in a separate partition, ordered by message. The reactions to a message
have a partition of their own, ordered by user. Changes are applied to the row of their message. A change that is stored
before its message leaves a row under the message's key that says so (``AWAITED``): the message finds it, and is stored
with its changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from headrace.core import keys, times
from headrace.core.caller import SenderContext, choose_time, choose_user
from headrace.core.errors import FieldError, InvalidEvent
from headrace.core.fields import (
    CanonicalTime,
    EventModel,
    Id,
    IncomingModel,
    Key,
    SenderTag,
    StoredId,
    Text,
    Time,
    incoming,
    stamped,
)
from headrace.core.items import Item, expires_at
from headrace.core.stream import TableSettings, ValidatedEvent
from headrace.streams.chat.attachments.files import ATTACHMENTS
from headrace.streams.chat.text import TEXT_FORM, VALUE_FORM, MessageText, ReactionValue

KIND = "chat.change"
"""The kind of a change's row."""
ID_FIELD = "changeId"
CHANGE = "change"
"""Attribute that only rows of changes have."""
CHANGE_KEY = "changeKey"
"""Attribute of a message that was changed: the place of the change that it shows. A later change has a higher one."""
FIRST_TEXT = "firstText"
REACTIONS_AT = "reactionsAt"
"""Attribute of a message with reactions: when what it shows of them last changed."""
SHOWN_REACTIONS = ("reactions", "moreReactions", REACTIONS_AT)
"""Attributes of a message that only its reactions give it."""
GONE_WHEN_DELETED = (FIRST_TEXT, "editedAt", ATTACHMENTS, *SHOWN_REACTIONS)
"""Attributes that a deleted message does not have."""
TRUSTED = "isTrusted"
"""Attribute of an unchecked change, beside the time of its acceptance; neither is stored."""
EDIT: Literal["edit"] = "edit"
DELETE: Literal["delete"] = "delete"
REACT: Literal["react"] = "react"
Kind = Literal["edit", "delete", "react"]
_KINDS = "edit, delete or react"
VALUE = "value"
"""Attribute of a reaction; one without it takes the user's reaction back."""
AUTHOR: Literal["author"] = "author"
OWNER: Literal["owner"] = "owner"
By = Literal["author", "owner"]
_PARTITION = "#changes#"
_REACTIONS = "#reactions#"
AWAITED = "awaited"
"""Attribute of the row under the key of a message that is not stored yet and has changes. Each change gives it another
value. Such a row has no user, so no index has it, and readers leave it out (:func:`is_message`)."""
_ORDER = {EDIT: "1", DELETE: "2"}
"""Part of the place of a change: a deletion follows every edit, whatever their times are."""
ERASED = "3"
"""The change of a message whose author was erased. It follows every other."""


def _message_key(value: str) -> str:
    try:
        return exact_key(value)
    except ValueError:
        raise PydanticCustomError("invalid_key", "is not the key of a message") from None


def exact_key(value: str) -> str:
    """The key of a message in its stored form.

    Raises:
        ValueError: not the key of an item.
    """
    parts = keys.parse_message_key(value)
    if parts.sender_tag is None:
        raise ValueError("has no sender tag")
    return keys.timestamp_sk(parts.timestamp, parts.message_id, parts.sender_tag)


KEY_FORM = "the key of a message"
MessageKey = Annotated[Key, AfterValidator(_message_key)]


class IncomingChange(IncomingModel):
    """A change of a message as routes and frames pass it on."""

    room_id: Id = Field(description=keys.ID_FORM)
    key: MessageKey = Field(description=KEY_FORM)
    change: Kind = Field(description=_KINDS)
    message: MessageText | None = Field(default=None, description=TEXT_FORM)
    value: ReactionValue | None = Field(default=None, description=VALUE_FORM)
    change_id: Id | None = Field(default=None, description=keys.ID_FORM)
    timestamp: Time | None = Field(default=None, description=times.ACCEPTED_FORM)
    user_id: Id | None = Field(default=None, description=keys.ID_FORM)


class StampedChange(EventModel):
    """A change in an envelope. ``by`` says whether the sender is the author, or was allowed as an owner."""

    room_id: StoredId = Field(description=keys.STORED_ID_FORM)
    key: MessageKey = Field(description=KEY_FORM)
    change: Kind = Field(description=_KINDS)
    message: Text | None = Field(default=None, description="a text")
    value: ReactionValue | None = Field(default=None, description=VALUE_FORM)
    change_id: StoredId = Field(description=keys.STORED_ID_FORM)
    timestamp: CanonicalTime = Field(description="a canonical UTC time with six digits")
    changed_by: StoredId = Field(description=keys.STORED_ID_FORM)
    by: By = Field(default=AUTHOR, description="author or owner")
    sender: SenderTag = Field(description="12 characters of base32")
    unchecked_at: CanonicalTime | None = Field(default=None, description="a canonical UTC time with six digits")
    is_trusted: bool = Field(default=False, description="whether the sender of an unchecked change has events:write")


_incoming = incoming(IncomingChange)
_stamped = stamped(StampedChange)


def accept(raw: object, sender: SenderContext) -> ValidatedEvent:
    """A client's change, validated and stamped. Sent again under its id and time, it is the same change."""
    change = _incoming(raw)
    if (change.message is None) == (change.change == EDIT):
        text = "is missing" if change.message is None else "is only for edits"
        raise InvalidEvent(details=[FieldError("message", text, None, TEXT_FORM)])
    if change.value is not None and change.change != REACT:
        raise InvalidEvent(details=[FieldError(VALUE, "is only for reactions", change.value, "left out")])
    timestamp = choose_time(sender, ID_FIELD, change.change_id, change.timestamp)
    change_id = change.change_id or times.new_message_id(sender.now)
    user_id, _ = choose_user(sender, change.user_id, None)
    receipt = {"roomId": change.room_id, "key": change.key, ID_FIELD: change_id, "timestamp": timestamp}
    event = {
        **receipt,
        CHANGE: change.change,
        "changedBy": user_id,
        "sender": keys.content_tag(
            sender.subject, user_id, change_id, change.change, change.message or change.value or ""
        ),
    }
    if change.message is not None:
        event["message"] = change.message
    if change.value is not None:
        event[VALUE] = change.value
    return ValidatedEvent(event, change_id, _place(event), receipt)


def _place(event: Mapping[str, str]) -> tuple[str, str]:
    """The partition and the sort key of a change."""
    last = f"{event['timestamp']}#{event['sender']}"
    if event[CHANGE] == REACT:
        # Not in the partition of the room: two keys and the user would be too long for a sort key.
        return reactions_partition(event["roomId"], event["key"]), f"{event['changedBy']}#{last}"
    return partition(event["roomId"]), f"{event['key']}#{_ORDER[event[CHANGE]]}#{last}"


def item(event: dict[str, Any], accepted_at: int, table: TableSettings) -> Item:
    """The row of a stamped change. It is kept at least as long as its message."""
    change = _stamped(event)
    room_id, sort_key = _place(change.model_dump(by_alias=True))
    row: Item = {
        "roomId": room_id,
        "timestampSk": sort_key,
        CHANGE: change.change,
        ID_FIELD: change.change_id,
        "timestamp": change.timestamp,
        "changedBy": change.changed_by,
        "by": change.by,
        "userId": changes_by(change.changed_by),
    }
    if change.message is not None:
        row["message"] = change.message
    if change.value is not None:
        row[VALUE] = change.value
    if change.unchecked_at is not None:
        row |= {"uncheckedAt": change.unchecked_at, TRUSTED: change.is_trusted}
    if table.retention_days:
        own = "" if change.change == REACT else change.timestamp
        latest = max(own, keys.time_of(change.key))
        row["expiresAt"] = expires_at(latest, accepted_at, table.retention_days)
    return row


def partition(room_id: str) -> str:
    """The partition of a room's edits and deletions. No room id contains ``#``."""
    return _PARTITION + room_id


def reactions_partition(room_id: str, key: str) -> str:
    """The partition of a message's reactions."""
    return f"{_REACTIONS}{room_id}#{key}"


def changes_by(user_id: str) -> str:
    """The partition of a user's changes in the index of users, beside that of the user's messages."""
    return _PARTITION + user_id


def edits_of(key: str) -> str:
    """How the sort keys of a message's edits begin."""
    return f"{key}#{_ORDER[EDIT]}#"


def message_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """The room and the key of the message that a change's row is about."""
    if is_reaction(row):
        room_id, _, key = row["roomId"].removeprefix(_REACTIONS).partition("#")
        return room_id, key
    return row["roomId"].removeprefix(_PARTITION), "#".join(row["timestampSk"].split("#")[:3])


def is_message(row: Mapping[str, Any]) -> bool:
    """Whether a row under the key of a message is a message, and not only awaited."""
    return "userId" in row


def is_reaction(row: Mapping[str, Any]) -> bool:
    """Whether a row of the table of messages is a reaction."""
    return row.get(CHANGE) == REACT


@dataclass(frozen=True, slots=True)
class Change:
    """What a message shows after all its changes. ``key`` orders it among them."""

    kind: Kind
    key: str
    at: str
    by: str
    text: str = ""

    def apply_to(self, row: Item) -> None:
        """Change the row of a message. Its first text stays beside the newest one, until it is deleted."""
        if self.kind == DELETE:
            for name in GONE_WHEN_DELETED:
                row.pop(name, None)
            row |= {"message": "", "deletedAt": self.at, "deletedBy": self.by}
        else:
            row.setdefault(FIRST_TEXT, row["message"])
            row |= {"message": self.text, "editedAt": self.at}
        row[CHANGE_KEY] = self.key


def fold(author: str, rows: Iterable[Mapping[str, Any]]) -> Change | None:
    """The change that counts among all of a message of ``author``: the last deletion, otherwise the last edit.

    Changes of others count only if they were allowed as those of an owner. ``rows`` are as
    :meth:`.ChangeStore.changes_of` reads them; it stops at the first that counts.
    """
    return next((_change(row) for row in rows if counts(author, row)), None)


def counts(author: str, row: Mapping[str, Any]) -> bool:
    """Whether a change of a message of ``author`` is one that its sender was allowed to make."""
    return bool(row["by"] == OWNER or row["changedBy"] == author)


def _change(row: Mapping[str, Any]) -> Change:
    place = "#".join(row["timestampSk"].split("#")[3:])
    return Change(row[CHANGE], place, row["timestamp"], row["changedBy"], row.get("message", ""))
