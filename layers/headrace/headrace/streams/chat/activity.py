"""When each room had its newest message."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.core.times import Clock, iso
from headrace.runtime.bounded import BoundedDict
from headrace.runtime.cooldown import Cooldown
from headrace.runtime.observability import report
from headrace.storage.dynamodb.client import GET_LIMIT, DynamoTable
from headrace.storage.ports import Failure
from headrace.streams.chat.rooms import GROUP, OPEN, Room, Rooms, room_of
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
        """The rooms among ``room_ids`` that exist; the reads are consistent."""
        ...

    def raise_to(self, room_id: str, key: str) -> bool:
        """Make this sort key the room's newest. ``False``: a newer one is stored, or the room does not exist."""
        ...


class DynamoRoomActivity:
    """:class:`RoomActivity` in the Rooms table."""

    def __init__(self, client: Any, table: str) -> None:
        self._table = DynamoTable(client, table, "rooms")
        self._pool: ThreadPoolExecutor | None = None

    def read(self, room_ids: Sequence[str]) -> dict[str, ActiveRoom]:
        """Rooms, in parallel calls of 100."""
        keys = [{"roomId": room_id} for room_id in dict.fromkeys(room_ids)]
        chunks = [keys[at : at + GET_LIMIT] for at in range(0, len(keys), GET_LIMIT)]
        if len(chunks) <= 1:
            found = [self._chunk(chunk) for chunk in chunks]
        else:
            self._pool = self._pool or ThreadPoolExecutor(AT_ONCE, "rooms")
            found = list(self._pool.map(self._chunk, chunks))
        return {each.room.room_id: each for chunk in found for each in chunk}

    def _chunk(self, keys: Sequence[Item]) -> list[ActiveRoom]:
        found: list[ActiveRoom] = []
        for _ in range(TRIES):
            rows, keys = self._table.get_many(keys)
            found += [ActiveRoom(room_of(row), row.get("lastKey")) for row in rows]
            if not keys:
                return found
        raise StoreThrottled("the rooms cannot all be read right now; try again shortly")

    def raise_to(self, room_id: str, key: str) -> bool:
        """One conditional UpdateItem."""
        condition = "attribute_exists(roomId) AND (attribute_not_exists(lastKey) OR lastKey < :key)"
        return self._table.update_if(condition, {"roomId": room_id}, "SET lastKey = :key", {":key": key})


UPDATES_AT_ONCE = 8
REMEMBERED = 10_000
"""Rooms whose second an environment remembers: about a megabyte."""
COOLDOWN_SECONDS = 5.0
"""How long no call is made after the table was unavailable."""

SECOND = len("2025-11-21T10:00:58")


class ActivityHook:
    """A hook after storing: at most one conditional write per room, second and environment.

    The order of a user's rooms depends on it, and only the next message in a room would correct it. So a failed write
    is a failure of the newest message of the batch in that room, which returns through the retry lane.
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
        """The outcome of an item. A missing room is created: a trusted sender's message may be stored before it is."""
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
