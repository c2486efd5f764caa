"""The newest activity in each room, by which the rooms of a user are ordered."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.core.times import Clock, iso
from headrace.runtime.bounded import BoundedDict
from headrace.runtime.cooldown import Cooldown
from headrace.runtime.observability import report
from headrace.runtime.threads import Parallel
from headrace.storage.ports import Failure
from headrace.streams.chat.rooms.rooms import Room, Rooms, first_room

UPDATES_AT_ONCE = 8
REMEMBERED = 10_000
"""Rooms of which an environment remembers the last stored second: about 1 MB."""
COOLDOWN_SECONDS = 5.0
"""Seconds without calls after the table was unavailable."""
SECOND = len("2025-11-21T10:00:58")
"""Characters of a time that is cut to its second."""


@dataclass(frozen=True, slots=True)
class ActiveRoom:
    """A room, and the sort key of its newest known message."""

    room: Room
    last_key: str | None


class RoomActivity(Protocol):
    """Stores the last activity of rooms. Every method may raise StoreUnavailable."""

    def read(self, room_ids: Sequence[str]) -> dict[str, ActiveRoom]:
        """The rooms among ``room_ids`` that exist; the reads are consistent."""

    def raise_to(self, room_id: str, key: str) -> bool:
        """Make this sort key the room's newest. Returns ``False`` if a newer one is stored, or there is no room."""


class ActivityHook:
    """Updates the last activity of rooms: at most one conditional write per room, second and environment.

    The order of a user's rooms depends on this write. If it fails, the newest message of the batch in that room fails
    with it, and the retry lane repeats both. Without that, the order would be wrong until the room's next message.
    """

    def __init__(
        self, activity: RoomActivity, rooms: Rooms, clock: Clock, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._activity = activity
        self._rooms = rooms
        self._clock = clock
        self._seconds: BoundedDict[str, str] = BoundedDict(REMEMBERED)
        self._cooldown = Cooldown(COOLDOWN_SECONDS, monotonic)
        self._parallel = Parallel(UPDATES_AT_ONCE, "activity")

    def after_store(self, _stream: Stream, items: Sequence[Item]) -> Sequence[Failure | None]:
        outcomes: list[Failure | None] = [None] * len(items)
        newest: dict[str, int] = {}
        for at, item in enumerate(items):
            room_id = item["roomId"]
            if item["timestampSk"] >= items[newest.get(room_id, at)]["timestampSk"]:
                newest[room_id] = at
        due = [at for room_id, at in newest.items() if _second(items[at]) > self._seconds.get(room_id, "")]
        for at, raised in zip(due, self._parallel.map(self._raise, [items[at] for at in due]), strict=True):
            outcomes[at] = self._settle(items[at], raised)
        return outcomes

    def _raise(self, item: Item) -> bool | StoreUnavailable:
        if self._cooldown.is_active:
            return StoreUnavailable("the rooms were unavailable a moment ago")
        try:
            return self._activity.raise_to(item["roomId"], item["timestampSk"])
        except StoreUnavailable as error:
            if not isinstance(error, StoreThrottled):
                self._cooldown.start()
            return error

    def _settle(self, item: Item, raised: bool | StoreUnavailable) -> StoreUnavailable | None:
        """The outcome of an item. A missing room is created: a trusted sender's message may be stored before it."""
        try:
            if raised is False and self._rooms.get(item["roomId"]) is None:
                self._rooms.create(first_room(item["roomId"], iso(self._clock.now()), item["userId"]))
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
