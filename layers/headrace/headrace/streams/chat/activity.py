"""The time of the last message in each room."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.core.items import Item, from_wire
from headrace.core.stream import Stream
from headrace.core.times import Clock, iso
from headrace.runtime.bounded import BoundedDict
from headrace.runtime.cooldown import Cooldown
from headrace.runtime.observability import report
from headrace.storage.dynamodb.client import BATCH, ConditionFailed, batch_get, call
from headrace.storage.ports import Failure
from headrace.streams.chat.rooms import GROUP, OPEN, MemoryRooms, Room, Rooms, room_of
from headrace.streams.chat.stream import CHAT

AT_ONCE = 8
TRIES = 2


@dataclass(frozen=True, slots=True)
class ActiveRoom:
    """A room, and the sort key of its newest known message."""

    room: Room
    last_key: str | None


class RoomActivity(Protocol):
    """Stores the last activity of rooms. Every method may raise :class:`~headrace.core.errors.StoreUnavailable`."""

    def read(self, room_ids: Sequence[str]) -> dict[str, ActiveRoom]:
        """The rooms among ``room_ids`` that exist, including every update that was confirmed before the call."""
        ...

    def raise_to(self, room_id: str, key: str) -> bool:
        """Make this sort key the room's newest. ``False``: a newer one is stored, or the room does not exist."""
        ...


class DynamoRoomActivity:
    """:class:`RoomActivity` in the Rooms table."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table
        self._pool: ThreadPoolExecutor | None = None

    def read(self, room_ids: Sequence[str]) -> dict[str, ActiveRoom]:
        """See the port; batches of 100 are read in parallel."""
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
        """See the port; one conditional UpdateItem."""
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
    """:class:`RoomActivity` beside rooms in memory, for tests. ``down``: calls fail. ``writes`` counts attempts."""

    def __init__(self, rooms: MemoryRooms) -> None:
        self.rooms = rooms
        self.last_keys: dict[str, str] = {}
        self.down = False
        self.writes = 0

    def read(self, room_ids: Sequence[str]) -> dict[str, ActiveRoom]:
        if self.down:
            raise StoreUnavailable("rooms are away")
        rows = self.rooms.rows
        return {each: ActiveRoom(rows[each], self.last_keys.get(each)) for each in room_ids if each in rows}

    def raise_to(self, room_id: str, key: str) -> bool:
        self.writes += 1
        if self.down:
            raise StoreUnavailable("rooms are away")
        if room_id not in self.rooms.rows or self.last_keys.get(room_id, "") >= key:
            return False
        self.last_keys[room_id] = key
        return True


UPDATES_AT_ONCE = 8
REMEMBERED = 10_000
"""Rooms whose last written second an environment remembers: about a megabyte."""
COOLDOWN_SECONDS = 5.0
"""How long the table is not written after it did not answer."""

SECOND = len("2025-11-21T10:00:58")


class ActivityHook:
    """A hook after storing: at most one conditional write per room, second and environment.

    Lists of rooms are ordered by it, and a missed update would stay visible until the room's next message. So a failed
    write is a failure of the event, which goes to the retry lane: for each room the newest message of the batch.
    """

    def __init__(
        self, activity: RoomActivity, rooms: Rooms, clock: Clock, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._activity = activity
        self._rooms = rooms
        self._clock = clock
        self._seconds: BoundedDict[str, str] = BoundedDict(REMEMBERED)
        self._cooldown = Cooldown(COOLDOWN_SECONDS, monotonic)
        self._pool: ThreadPoolExecutor | None = None

    def stored(self, stream: Stream, items: Sequence[Item]) -> Sequence[Failure | None]:
        outcomes: list[Failure | None] = [None] * len(items)
        if stream is not CHAT:
            return outcomes
        newest: dict[str, int] = {}
        for at, item in enumerate(items):
            room_id = item["roomId"]
            if item["timestampSk"] >= items[newest.get(room_id, at)]["timestampSk"]:
                newest[room_id] = at
        due = [at for room_id, at in newest.items() if _second(items[at]) > self._seconds.get(room_id, "")]
        for at, raised in zip(due, self._raise_all([items[at] for at in due]), strict=True):
            outcomes[at] = self._settle(items[at], raised)
        return outcomes

    def _raise_all(self, items: Sequence[Item]) -> Sequence[bool | StoreUnavailable]:
        if len(items) <= 1:
            return [self._raise(item) for item in items]
        self._pool = self._pool or ThreadPoolExecutor(UPDATES_AT_ONCE, "activity")
        return list(self._pool.map(self._raise, items))

    def _raise(self, item: Item) -> bool | StoreUnavailable:
        if self._cooldown.is_active:
            return StoreUnavailable("rooms did not answer a moment ago")
        try:
            return self._activity.raise_to(item["roomId"], item["timestampSk"])
        except StoreUnavailable as error:
            if not isinstance(error, StoreThrottled):
                self._cooldown.start()
            return error

    def _settle(self, item: Item, raised: bool | StoreUnavailable) -> StoreUnavailable | None:
        """The outcome of an item. Creates its room if it is missing, as it may be for a trusted sender's message."""
        try:
            if raised is False and self._rooms.get(item["roomId"]) is None:
                now = iso(self._clock.now())
                self._rooms.create(Room(item["roomId"], OPEN, GROUP, now, item["userId"]))
                raised = self._raise(item)
        except StoreUnavailable as error:
            raised = error
        if isinstance(raised, StoreUnavailable):
            report("last activity", f"messages are stored, but their rooms' activity is not: {raised.message}")
            return raised
        self._seconds[item["roomId"]] = _second(item)
        return None


def _second(item: Item) -> str:
    return str(item["timestampSk"][:SECOND])
