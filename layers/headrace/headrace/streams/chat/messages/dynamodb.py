"""The table of messages in DynamoDB, as if each room had one partition."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headrace.core.items import Item
from headrace.core.room_shards import partitions_of, shown, stored
from headrace.storage.dynamodb.client import ConditionFailed, DynamoTable, Pages, to_wire
from headrace.storage.merged_reader import merged
from headrace.storage.ports import RangeQuery, Rows
from headrace.streams.chat.message_row import AWAITED, is_message
from headrace.streams.chat.messages.positions import STORED_AT


class DynamoMessages(DynamoTable):
    """Calls to the table of messages. Keys and rows have the id of their room, wherever they are stored.

    Queries leave out messages that are not stored yet.
    """

    def _stored(self, row: Item) -> dict[str, Any]:
        return super()._stored(stored(row))

    def _read(self, wire: Mapping[str, Any]) -> Item:
        return shown(super()._read(wire))

    def query_pages(self, attribute: str, value: str, start: Item | None = None, **parameters: Any) -> Pages:
        partitions = partitions_of(value) if attribute == "roomId" else [value]
        if len(partitions) == 1:
            pages = super().query_pages(attribute, value, start, **parameters)
        else:
            pages = self._merged_pages(value, partitions, start, parameters)
        return (([*filter(is_message, rows)], place) for rows, place in pages)

    def _merged_pages(
        self, room_id: str, partitions: list[str], start: Item | None, parameters: Mapping[str, Any]
    ) -> Pages:
        """Pages of a room with shards: a page of each, as far as all of them have been read."""
        query = RangeQuery(self._name, "roomId", room_id, "timestampSk", newest_first=False, limit=2**31)
        while True:
            parts = []
            for partition in partitions:
                place = None if start is None else {**start, "roomId": partition}
                parts.append(Rows(*next(super().query_pages("roomId", partition, place, **parameters))))
            rows = merged(query, parts)
            start = None if rows.more is None else {"roomId": room_id, **rows.more}
            yield rows.items, start
            if start is None:
                return


STORED = "attribute_exists(userId)"
"""The condition that a row under the key of a message is a message."""


class DynamoMessageTable(DynamoMessages):
    """A :class:`~headrace.streams.chat.message_row.MessageTable`."""

    def message(self, room_id: str, key: str) -> Item | None:
        row = self.get(key_of(room_id, key))
        return row if row is not None and is_message(row) else None

    def rows_of(self, places: Collection[tuple[str, str]], *attributes: str) -> dict[tuple[str, str], Item]:
        only = {"ProjectionExpression": ",".join(("roomId", "timestampSk", *attributes))} if attributes else {}
        found = self.get_many([key_of(*place) for place in places], **only)
        return {(row["roomId"], row["timestampSk"]): row for row in found}

    def await_message(self, room_id: str, key: str, value: str, expires_at: int | None) -> bool:
        expression, values = f"SET {AWAITED} = :value", Item({":value": value})
        if expires_at is not None:
            expression += ", expiresAt = :at"
            values[":at"] = expires_at
        return self.update_if("attribute_not_exists(userId)", key_of(room_id, key), expression, values)

    def store_awaited(self, message: Item, value: str) -> bool:
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
        condition = f"{STORED} AND (attribute_not_exists({STORED_AT}) OR {STORED_AT} < :stored)"
        values = {":stored": stored_at}
        self.update_if(condition, key_of(room_id, key), f"SET {STORED_AT} = :stored", values)

    def set_expiry(self, room_id: str, key: str, expires_at: int) -> None:
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
        self.delete_many([key_of(row["roomId"], row["timestampSk"]) for row in rows])


def key_of(room_id: str, sort_key: str) -> Item:
    """The key of a row of the table of messages."""
    return {"roomId": room_id, "timestampSk": sort_key}
