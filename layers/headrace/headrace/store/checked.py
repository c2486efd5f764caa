"""A store that checks, before it stores a message, the right that could not be checked when it was accepted.

Such a message carries ``uncheckedAt``, the time of acceptance. What counts is the membership at that time. A message
without the right is poison (``not_allowed``): it ends in the dead lane, so that even then nothing accepted is lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.access import was_said_outside
from headrace.core.errors import PoisonRecord, StoreUnavailable
from headrace.core.intervals import Interval
from headrace.core.items import Item
from headrace.core.times import SECOND, micros_of
from headrace.memberships import Memberships, Pair
from headrace.rooms import GROUP, MEMBERS, OPEN, Room, Rooms
from headrace.storage.ports import Failure, Store, Table
from headrace.streams.chat import UNCHECKED

CLOCK_SKEW = SECOND
"""How far the clock that told a join may be ahead of the one that told the acceptance."""


class CheckedStore:
    """A :class:`~headrace.storage.ports.Store` that gives ``store`` only what its sender may write."""

    def __init__(self, store: Store, rooms: Rooms, memberships: Memberships) -> None:
        self._store = store
        self._rooms = rooms
        self._memberships = memberships

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Failure | None]:
        """One outcome per item, in order. The mark is taken off, so that no row and no listener sees it."""
        marked = {index: item.pop(UNCHECKED) for index, item in enumerate(items) if UNCHECKED in item}
        if not marked:
            return self._store.put_many(table, items)
        refused = self._refused([(index, items[index], at) for index, at in marked.items()])
        allowed = [index for index in range(len(items)) if index not in refused]
        stored = self._store.put_many(table, [items[index] for index in allowed]) if allowed else []
        outcomes: dict[int, Failure | None] = dict(zip(allowed, stored, strict=True))
        outcomes.update(refused)
        return [outcomes[index] for index in range(len(items))]

    def _refused(self, marked: Sequence[tuple[int, Item, str]]) -> dict[int, Failure]:
        """Why some of them are not stored, by index."""
        try:
            rooms = self._rooms_of(marked)
            pairs = [_pair(item) for _, item, _ in marked if _is_members(rooms.get(item["roomId"]))]
            memberships = self._memberships.get_many(list(dict.fromkeys(pairs))) if pairs else {}
        except StoreUnavailable as error:
            return {index: error for index, _, _ in marked}
        refused: dict[int, Failure] = {}
        for index, item, at in marked:
            room, membership = rooms.get(item["roomId"]), memberships.get(_pair(item))
            if room is None or (_is_members(room) and membership is None):
                refused[index] = StoreUnavailable("the sender's right cannot be checked right now")
            elif membership is not None and not may_store(membership.intervals, at, item["timestamp"]):
                refused[index] = PoisonRecord("not_allowed")
        return refused

    def _rooms_of(self, marked: Sequence[tuple[int, Item, str]]) -> dict[str, Room | None]:
        """The rooms as far as they can be read; one that is missing is created, as by any first message."""
        rooms = self._rooms.get_many(list(dict.fromkeys(item["roomId"] for _, item, _ in marked)))
        for _, item, at in marked:
            room_id = item["roomId"]
            if room_id in rooms and rooms[room_id] is None:
                rooms[room_id] = self._rooms.create(Room(room_id, OPEN, GROUP, at, item["userId"]))
        return rooms


def _pair(item: Item) -> Pair:
    return item["userId"], item["roomId"]


def _is_members(room: Room | None) -> bool:
    return room is not None and room.kind == MEMBERS


def may_store(stays: Sequence[Interval], at: str, timestamp: str) -> bool:
    """Whether a message that was accepted at ``at`` and carries ``timestamp`` may be stored.

    Some stay covers ``at``, or begins within ``CLOCK_SKEW`` after it, and ``timestamp`` is not outside them all.
    """
    latest = micros_of(at) + CLOCK_SKEW
    was_in = any(stay.covers(at) or (at <= stay.joined_at and micros_of(stay.joined_at) <= latest) for stay in stays)
    return was_in and not was_said_outside(stays, timestamp)
