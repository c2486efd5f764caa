"""When each room had its newest message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.core.errors import StoreThrottled
from headrace.core.items import Item
from headrace.runtime.parallel import Parallel
from headrace.storage.dynamodb.client import GET_LIMIT, DynamoTable
from headrace.streams.chat.rooms import Room, room_of

AT_ONCE = 8
TRIES = 2


@dataclass(frozen=True, slots=True)
class ActiveRoom:
    """A room, and the sort key of its newest known message."""

    room: Room
    last_key: str | None


class RoomActivity(Protocol):
    """Stores the last activity of rooms. Every method may raise StoreUnavailable."""

    def read(self, room_ids: Sequence[str]) -> dict[str, ActiveRoom]:
        """The rooms among ``room_ids`` that exist; the reads are consistent."""
        ...

    def raise_to(self, room_id: str, key: str) -> bool:
        """Make this sort key the room's newest. ``False``: a newer one is stored, or the room does not exist."""
        ...


class DynamoRoomActivity:
    """:class:`RoomActivity` in the Rooms table."""

    def __init__(self, client: Any, table: str) -> None:
        self._table = DynamoTable(client, table, "rooms")
        self._parallel = Parallel(AT_ONCE, "rooms")

    def read(self, room_ids: Sequence[str]) -> dict[str, ActiveRoom]:
        keys = [{"roomId": room_id} for room_id in dict.fromkeys(room_ids)]
        chunks = [keys[at : at + GET_LIMIT] for at in range(0, len(keys), GET_LIMIT)]
        return {each.room.room_id: each for chunk in self._parallel.map(self._chunk, chunks) for each in chunk}

    def _chunk(self, keys: Sequence[Item]) -> list[ActiveRoom]:
        found: list[ActiveRoom] = []
        for _ in range(TRIES):
            rows, keys = self._table.get_many(keys)
            found += [ActiveRoom(room_of(row), row.get("lastKey")) for row in rows]
            if not keys:
                return found
        raise StoreThrottled("the rooms cannot all be read right now; try again shortly")

    def raise_to(self, room_id: str, key: str) -> bool:
        condition = "attribute_exists(roomId) AND (attribute_not_exists(lastKey) OR lastKey < :key)"
        return self._table.update_if(condition, {"roomId": room_id}, "SET lastKey = :key", {":key": key})
