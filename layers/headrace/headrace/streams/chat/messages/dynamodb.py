"""The table of messages in DynamoDB, as if each room had one partition."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.items import Item
from headrace.storage.dynamodb.client import ConditionFailed, DynamoTable, Pages, to_wire
from headrace.storage.ports import Outcome, Store, Table
from headrace.streams.chat.message_row import AWAITED, is_message
from headrace.streams.chat.messages.positions import STORED_AT
from headrace.streams.chat.room_shards import shown, stored

STORED = "attribute_exists(userId)"
"""The condition that a row under the key of a message is a message."""


@dataclass(frozen=True, slots=True)
class MessageStore:
    """A :class:`~headrace.storage.ports.Store` that puts messages into the shards of their rooms."""

    store: Store

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Outcome]:
        if "roomId" in table.key:
            items = [stored(item) for item in items]
        return self.store.put_many(table, items)


class MessageTable(DynamoTable):
    """The table of messages, for code that knows one message or some. Methods may raise StoreUnavailable.

    Keys and rows have the id of their room, wherever they are stored. Queries leave out messages that are not stored
    yet, and read one partition: those of a room with shards are read by :class:`.MessageReader`.
    """

    def _stored(self, row: Item) -> dict[str, Any]:
        return super()._stored(stored(row))

    def _read(self, wire: Mapping[str, Any]) -> Item:
        return shown(super()._read(wire))

    def query_pages(self, attribute: str, value: str, start: Item | None = None, **parameters: Any) -> Pages:
        pages = super().query_pages(attribute, value, start, **parameters)
        return (([*filter(is_message, rows)], place) for rows, place in pages)

    def message(self, room_id: str, key: str) -> Item | None:
        """The row of a message that is stored."""
        row = self.get(key_of(room_id, key))
        return row if row is not None and is_message(row) else None

    def rows_of(self, places: Collection[tuple[str, str]], *attributes: str) -> dict[tuple[str, str], Item]:
        """The rows of messages, stored or awaited, by room and key; with these ``attributes``, or all."""
        only = {"ProjectionExpression": ",".join(("roomId", "timestampSk", *attributes))} if attributes else {}
        found = self.get_many([key_of(*place) for place in places], **only)
        return {(row["roomId"], row["timestampSk"]): row for row in found}

    def await_message(self, room_id: str, key: str, value: str, expires_at: int | None) -> bool:
        """Say under the key of a message that it has changes, with a new ``value``; ``False`` if it is stored."""
        expression, values = f"SET {AWAITED} = :value", Item({":value": value})
        if expires_at is not None:
            expression += ", expiresAt = :at"
            values[":at"] = expires_at
        return self.update_if("attribute_not_exists(userId)", key_of(room_id, key), expression, values)

    def store_awaited(self, message: Item, value: str) -> bool:
        """Store a message that was awaited; ``False`` if its row has no longer this ``value``."""
        condition = {
            "ConditionExpression": f"{AWAITED} = :value",
            "ExpressionAttributeValues": to_wire({":value": value}),
        }
        try:
            self.put(message, **condition)
        except ConditionFailed:
            return False
        return True

    def set_stored(self, room_id: str, key: str, stored_at: str) -> None:
        """Set the time at which readers of positions find a stored message, unless it has a later one."""
        condition = f"{STORED} AND (attribute_not_exists({STORED_AT}) OR {STORED_AT} < :stored)"
        values = {":stored": stored_at}
        self.update_if(condition, key_of(room_id, key), f"SET {STORED_AT} = :stored", values)

    def set_expiry(self, room_id: str, key: str, expires_at: int) -> None:
        """Let a message expire at a time (epoch seconds), unless it expires sooner."""
        condition = f"{STORED} AND (attribute_not_exists(expiresAt) OR expiresAt > :at)"
        self.update_if(condition, key_of(room_id, key), "SET expiresAt = :at", {":at": expires_at})

    def update_message(self, room_id: str, key: str, condition: str, expression: str, values: Item) -> Item | None:
        """Change a message; the changed row, or ``None`` if ``condition`` does not hold."""
        try:
            return self.update(
                key_of(room_id, key), expression, values, ConditionExpression=condition, ReturnValues="ALL_NEW"
            )
        except ConditionFailed:
            return None

    def forget_rows(self, rows: Collection[Item]) -> None:
        """Delete rows of changes of messages that count no more."""
        self.delete_many([key_of(row["roomId"], row["timestampSk"]) for row in rows])


def key_of(room_id: str, sort_key: str) -> Item:
    """The key of a row of the table of messages."""
    return {"roomId": room_id, "timestampSk": sort_key}
