"""The last activity of rooms, in the Rooms table."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.errors import StoreThrottled
from headrace.core.items import Item
from headrace.runtime.aws import AwsClient
from headrace.runtime.threads import Parallel
from headrace.storage.dynamodb.client import GET_LIMIT, DynamoTable
from headrace.streams.chat.messages.activity import ActiveRoom
from headrace.streams.chat.rooms.dynamodb.rooms import room_of

ACTIVITY_AT_ONCE = 8
"""BatchGetItem calls in parallel when the activity of many rooms is read."""
ACTIVITY_TRIES = 2
"""Calls that each chunk of rooms gets; DynamoDB may leave keys of the first one unprocessed."""


class DynamoRoomActivity:
    """:class:`RoomActivity` in the Rooms table."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, "rooms")
        self._parallel = Parallel(ACTIVITY_AT_ONCE, "rooms")

    def read(self, room_ids: Sequence[str]) -> dict[str, ActiveRoom]:
        keys = [{"roomId": room_id} for room_id in dict.fromkeys(room_ids)]
        chunks = [keys[at : at + GET_LIMIT] for at in range(0, len(keys), GET_LIMIT)]
        return {each.room.room_id: each for chunk in self._parallel.map(self._chunk, chunks) for each in chunk}

    def _chunk(self, keys: Sequence[Item]) -> list[ActiveRoom]:
        found: list[ActiveRoom] = []
        for _ in range(ACTIVITY_TRIES):
            rows, keys = self._table.get_many(keys)
            found += [ActiveRoom(room_of(row), row.get("lastKey")) for row in rows]
            if not keys:
                return found
        raise StoreThrottled("the rooms cannot all be read right now; try again shortly")

    def raise_to(self, room_id: str, key: str) -> bool:
        condition = "attribute_exists(roomId) AND (attribute_not_exists(lastKey) OR lastKey < :key)"
        return self._table.update_if(condition, {"roomId": room_id}, "SET lastKey = :key", {":key": key})
