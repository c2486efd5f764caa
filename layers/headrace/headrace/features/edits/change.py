"""The event of an edit or a deletion, its row, and what a message shows after its edits and deletions.

    {"roomId": "kitchen", "key": "2026-11-22T10:00:00.000000Z#m-1#fpmansl7byak", "change": "edit", "message": "Hello"}

The rows of a room's edits and deletions are in a separate partition, ordered by message. They are applied to the row of
their message. A change that is stored before its message leaves a row under the message's key that says so: the message
finds it, and is stored with its changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from headrace.core import keys
from headrace.core.fields import CanonicalTime, EventModel, SenderTag, StoredId, Text, stamped
from headrace.core.items import Item, expires_at
from headrace.core.stream import Kind, TableSettings
from headrace.features.edits import FEATURE
from headrace.streams.chat.message_row import CHANGE, CHANGE_KEY, FIRST_TEXT, GONE_WHEN_DELETED, KEY_FORM, MessageKey

ID_FIELD = "changeId"
TRUSTED = "isTrusted"
"""Attribute of an unchecked change, beside the time of its acceptance; neither is stored."""
EDIT: Literal["edit"] = "edit"
DELETE: Literal["delete"] = "delete"
EditKind = Literal["edit", "delete"]
AUTHOR: Literal["author"] = "author"
OWNER: Literal["owner"] = "owner"
By = Literal["author", "owner"]
(_PARTITION,) = FEATURE.prefixes
EDITED, DELETED = FEATURE.tells
"""The types of events that go to TellTarget."""
_ORDER = {EDIT: "1", DELETE: "2"}
"""Part of the place of a change: a deletion follows every edit, whatever their times are. ERASED follows both."""
_TIME_FORM = "a canonical UTC time with six digits"
PlaceOf = Callable[[Mapping[str, Any]], tuple[str, str]]
"""Of the event of a change: where its row is. Of that row: the room and the key of the message that it is about."""


class StampedChange(EventModel):
    """What every change has in an envelope. ``by`` says if the sender is the author, or was allowed as an owner."""

    room_id: StoredId = Field(description=keys.STORED_ID_FORM)
    key: MessageKey = Field(description=KEY_FORM)
    change_id: StoredId = Field(description=keys.STORED_ID_FORM)
    timestamp: CanonicalTime = Field(description=_TIME_FORM)
    changed_by: StoredId = Field(description=keys.STORED_ID_FORM)
    by: By = Field(default=AUTHOR, description="author or owner")
    sender: SenderTag = Field(description="12 characters of base32")
    unchecked_at: CanonicalTime | None = Field(default=None, description=_TIME_FORM)
    is_trusted: bool = Field(default=False, description="whether the sender of an unchecked change has events:write")


class StampedEdit(StampedChange):
    """An edit or a deletion in an envelope."""

    change: EditKind = Field(description="edit or delete")
    message: Text | None = Field(default=None, description="a text")


_stamped = stamped(StampedEdit)


def row_place(event: Mapping[str, str]) -> tuple[str, str]:
    """The partition and the sort key of an edit or a deletion."""
    last = f"{event['timestamp']}#{event['sender']}"
    return partition(event["roomId"]), f"{event['key']}#{_ORDER[event[CHANGE]]}#{last}"


def item(event: dict[str, Any], accepted_at: int, table: TableSettings) -> Item:
    """The row of a stamped edit or deletion. It is kept at least as long as its message."""
    change = _stamped(event)
    row = row_of(change, row_place, change.change)
    if change.message is not None:
        row["message"] = change.message
    if table.retention_days:
        latest = max(change.timestamp, keys.time_of(change.key))
        row["expiresAt"] = expires_at(latest, accepted_at, table.retention_days)
    return row


def row_of(change: StampedChange, place: PlaceOf, how: str) -> Item:
    """What the row of every change has."""
    partition_key, sort_key = place(change.model_dump(by_alias=True))
    row: Item = {
        "roomId": partition_key,
        "timestampSk": sort_key,
        CHANGE: how,
        ID_FIELD: change.change_id,
        "timestamp": change.timestamp,
        "changedBy": change.changed_by,
        "by": change.by,
        "userId": changes_by(change.changed_by),
    }
    if change.unchecked_at is not None:
        row |= {"uncheckedAt": change.unchecked_at, TRUSTED: change.is_trusted}
    return row


def partition(room_id: str) -> str:
    """The partition of a room's edits and deletions. No room id contains ``#``."""
    return _PARTITION + room_id


def changes_by(user_id: str) -> str:
    """The partition of a user's changes in the index of users, beside that of the user's messages."""
    return _PARTITION + user_id


def edits_of(key: str) -> str:
    """How the sort keys of a message's edits begin."""
    return f"{key}#{_ORDER[EDIT]}#"


def message_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """The room and the key of the message that the row of an edit or a deletion is about."""
    return row["roomId"].removeprefix(_PARTITION), "#".join(row["timestampSk"].split("#")[:3])


KIND = Kind(FEATURE.gates[0], item, message_of)
KINDS: dict[str, Kind] = {EDIT: KIND, DELETE: KIND}


@dataclass(frozen=True, slots=True)
class Change:
    """What a message shows after all its changes. ``key`` orders it among them."""

    kind: EditKind
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
    :meth:`.DynamoChanges.changes_of` reads them; it stops at the first that counts.
    """
    return next((_change(row) for row in rows if counts(author, row)), None)


def counts(author: str, row: Mapping[str, Any]) -> bool:
    """Whether a change of a message of ``author`` is one that its sender was allowed to make."""
    return bool(row["by"] == OWNER or row["changedBy"] == author)


def _change(row: Mapping[str, Any]) -> Change:
    place = "#".join(row["timestampSk"].split("#")[3:])
    return Change(row[CHANGE], place, row["timestamp"], row["changedBy"], row.get("message", ""))


def told(before: Item, after: Item) -> str:
    """Whether a message was edited or deleted. One that is stored as deleted was; as edited, it is only stored."""
    if after.get(CHANGE_KEY, "") > before.get(CHANGE_KEY, "") and (before or "deletedAt" in after):
        return DELETED if "deletedAt" in after else EDITED
    return ""
