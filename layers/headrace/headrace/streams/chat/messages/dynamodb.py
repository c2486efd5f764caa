"""The table of messages in DynamoDB, as if each room had one partition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.core.items import Item
from headrace.core.room_shards import partitions_of, shown, stored
from headrace.storage.dynamodb.client import DynamoTable, Pages
from headrace.storage.merged_reader import merged
from headrace.storage.ports import RangeQuery, Rows
from headrace.streams.chat.change import is_message


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
