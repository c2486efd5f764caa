"""Edits and deletions in the table of messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.core.items import Item
from headrace.features.edits.change import DELETE, Change, edits_of, partition
from headrace.storage.dynamodb.client import to_wire
from headrace.streams.chat.message_row import CHANGE_KEY, FIRST_TEXT, GONE_WHEN_DELETED
from headrace.streams.chat.messages.dynamodb import STORED, MessageTable
from headrace.streams.chat.messages.positions import STORED_AT

AT_ONCE = 10
"""Changes that one query reads: of most messages all, and of one with thousands not much more than is needed."""
_CONDITION = f"{STORED} AND (attribute_not_exists({CHANGE_KEY}) OR {CHANGE_KEY} < :key)"
_EDIT = (
    f"SET {FIRST_TEXT} = if_not_exists({FIRST_TEXT}, message), message = :text, editedAt = :at, "
    f"{CHANGE_KEY} = :key, {STORED_AT} = :stored"
)
_DELETE = (
    f"SET message = :text, deletedAt = :at, deletedBy = :by, {CHANGE_KEY} = :key, {STORED_AT} = :stored "
    f"REMOVE {', '.join(GONE_WHEN_DELETED)}"
)


class DynamoChanges(MessageTable):
    """The rows of edits and deletions, and the messages that they change. Methods may raise StoreUnavailable."""

    def changes_of(self, room_id: str, key: str) -> Iterator[Item]:
        """The rows of a message's changes: deletions, then edits, the latest first. It reads what is taken."""
        return self._changes(room_id, f"{key}#", ScanIndexForward=False, Limit=AT_ONCE)

    def _changes(self, room_id: str, beginning: str, **parameters: Any) -> Iterator[Item]:
        """The changes in a room whose sort keys have a ``beginning``, which ends with "#"."""
        # "$" follows "#".
        values = {":room": partition(room_id), ":from": beginning, ":to": f"{beginning[:-1]}$"}
        return self.query_all(
            "roomId",
            partition(room_id),
            KeyConditionExpression="roomId = :room AND timestampSk BETWEEN :from AND :to",
            ExpressionAttributeValues=to_wire(values),
            ConsistentRead=True,
            **parameters,
        )

    def apply(self, room_id: str, key: str, change: Change, stored_at: str) -> Item | None:
        """Apply a change to a stored message that has no later one; the changed row, or ``None``.

        ``stored_at`` is the canonical time at which the message is stored again, for readers of positions.
        """
        values = {":text": change.text, ":at": change.at, ":key": change.key, ":stored": stored_at}
        if change.kind == DELETE:
            return self.update_message(room_id, key, _CONDITION, _DELETE, {**values, ":text": "", ":by": change.by})
        return self.update_message(room_id, key, _CONDITION, _EDIT, values)

    def forget_edits(self, room_id: str, key: str) -> None:
        """Delete the edits of a message, which is deleted."""
        self.forget_rows([*self._changes(room_id, edits_of(key))])
