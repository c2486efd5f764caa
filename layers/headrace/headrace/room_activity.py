"""When something was last said in a room: one attribute of its row, which only moves forward.

``lastKey`` is the sort key of the newest message, and the only attribute that is written here: what a room is stands in
the same row.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.core.items import from_wire
from headrace.rooms import MemoryRooms, Room, room_of
from headrace.storage.dynamodb.client import BATCH, ConditionFailed, batch_get, call

AT_ONCE = 8
TRIES = 2


@dataclass(frozen=True, slots=True)
class ActiveRoom:
    """A room, and the sort key of its newest message as far as it is known."""

    room: Room
    last_key: str | None


class RoomActivity(Protocol):
    """Keeps the last activity of rooms. Every method may raise :class:`~headrace.core.errors.StoreUnavailable`."""

    def read(self, room_ids: Sequence[str]) -> dict[str, ActiveRoom]:
        """The rooms among ``room_ids`` that there are, with all that was answered before."""
        ...

    def raise_to(self, room_id: str, key: str) -> bool:
        """Make the message with this sort key the room's newest; ``False``: a newer one is known, or no such room."""
        ...


class DynamoRoomActivity:
    """:class:`RoomActivity` in the Rooms table."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table
        self._pool: ThreadPoolExecutor | None = None

    def read(self, room_ids: Sequence[str]) -> dict[str, ActiveRoom]:
        """Rooms, in calls of 100 at the same time."""
        keys = [{"roomId": {"S": room_id}} for room_id in dict.fromkeys(room_ids)]
        chunks = [keys[at : at + BATCH] for at in range(0, len(keys), BATCH)]
        if len(chunks) <= 1:
            found = [self._chunk(chunk) for chunk in chunks]
        else:
            self._pool = self._pool or ThreadPoolExecutor(AT_ONCE, "rooms")
            found = list(self._pool.map(self._chunk, chunks))
        return {room_id: room for chunk in found for room_id, room in chunk.items()}

    def _chunk(self, keys: Sequence[Any]) -> dict[str, ActiveRoom]:
        found: dict[str, ActiveRoom] = {}
        for _ in range(TRIES):
            left: list[Any] = []
            for _asked, rows, unread in batch_get(self._client, self._table, keys):
                found |= {row["roomId"]["S"]: _active(row) for row in rows}
                left += unread
            if not left:
                return found
            keys = left
        raise StoreThrottled("the rooms cannot all be read right now; try again shortly")

    def raise_to(self, room_id: str, key: str) -> bool:
        """One conditional UpdateItem."""
        try:
            call(
                self._client,
                "update_item",
                TableName=self._table,
                Key={"roomId": {"S": room_id}},
                UpdateExpression="SET lastKey = :key",
                ConditionExpression="attribute_exists(roomId) AND (attribute_not_exists(lastKey) OR lastKey < :key)",
                ExpressionAttributeValues={":key": {"S": key}},
            )
        except ConditionFailed:
            return False
        return True


def _active(row: dict[str, Any]) -> ActiveRoom:
    plain = from_wire(row)
    return ActiveRoom(room_of(plain), plain.get("lastKey"))


class MemoryRoomActivity:
    """:class:`RoomActivity` beside rooms in memory, for tests. ``down``: nothing answers. ``writes`` counts tries."""

    def __init__(self, rooms: MemoryRooms) -> None:
        self.rooms = rooms
        self.last_keys: dict[str, str] = {}
        self.down = False
        self.writes = 0

    def read(self, room_ids: Sequence[str]) -> dict[str, ActiveRoom]:
        """Rooms."""
        if self.down:
            raise StoreUnavailable("rooms are away")
        rows = self.rooms.rows
        return {each: ActiveRoom(rows[each], self.last_keys.get(each)) for each in room_ids if each in rows}

    def raise_to(self, room_id: str, key: str) -> bool:
        """Move a room's activity forward."""
        self.writes += 1
        if self.down:
            raise StoreUnavailable("rooms are away")
        if room_id not in self.rooms.rows or self.last_keys.get(room_id, "") >= key:
            return False
        self.last_keys[room_id] = key
        return True
