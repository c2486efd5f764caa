"""Checks messages before they are stored: whether their sender may write, and how long they are kept."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import keys
from headrace.core.errors import PoisonRecord, StoreUnavailable
from headrace.core.items import Item
from headrace.core.times import AHEAD_LIMIT, MINUTE, SECOND, Clock, Interval, micros_of
from headrace.storage.ports import Failure
from headrace.streams.chat.messages.positions import STORED_AT, mark_late, mark_unlogged
from headrace.streams.chat.messages.redis import RoomLog
from headrace.streams.chat.room_shards import shard_count
from headrace.streams.chat.rooms.dynamodb import Memberships
from headrace.streams.chat.rooms.retention import AS_STAGE
from headrace.streams.chat.rooms.rooms import GROUP, MEMBERS, OPEN, CachedRooms, Room
from headrace.streams.chat.stream import UNCHECKED, set_time

CLOCK_SKEW = SECOND
"""Microseconds that the clock of a join may be ahead of the clock of an acceptance."""
CLOCK_TOLERANCE = 5 * MINUTE
"""Microseconds that the clock of a sender may be behind the clock of a join."""

Intervals = tuple[Interval, ...]

ALWAYS: Intervals = (Interval("", None),)
"""The right to write to an open room: as if the user had always been a member."""


class MessageCheck:
    """Chat's hook before rows are stored: stores those marked with UNCHECKED only if their sender may write.

    It also marks messages that are stored late, or while the ``log`` of their rooms is unavailable, and lets messages
    expire as their room says.
    """

    def __init__(
        self,
        rooms: CachedRooms,
        memberships: Memberships,
        clock: Clock,
        log: RoomLog | None = None,
        *,
        by_first_message: bool = True,
    ) -> None:
        self._log = log
        self._by_first_message = by_first_message
        self._rooms = rooms
        self._memberships = memberships
        self._clock = clock

    def before_store(self, items: Sequence[Item]) -> Sequence[Failure | None]:
        # The mark is removed first, so that neither the table nor a hook sees it.
        marked = [(index, item, item.pop(UNCHECKED)) for index, item in enumerate(items) if UNCHECKED in item]
        refused = self._refused(marked) if marked else {}
        now = self._clock.now()
        mark_late(items, now)
        self._limit(items, now)
        if self._log is not None and self._log.is_unavailable:
            mark_unlogged(items, now)
        return [refused.get(index) for index in range(len(items))]

    def _limit(self, items: Sequence[Item], now: int) -> None:
        """Let items expire with the retention of their rooms.

        A room's own retention is read for late messages, and for rooms that had one at the last read. ``ActivityHook``
        reads it for all others.
        """
        asked = {
            item["roomId"]
            for item in items
            if STORED_AT in item or self._rooms.known_retention(item["roomId"]) != AS_STAGE
        }
        found = self._rooms.retentions_if_possible(asked) if asked else {}
        for item in items:
            found.get(item["roomId"], AS_STAGE).limit(item, item["timestamp"], now)

    def _refused(self, marked: Sequence[tuple[int, Item, str]]) -> dict[int, Failure]:
        """The failures of the rows that may not be stored now, by index."""
        try:
            rooms = self._rooms_of(marked)
            members = {room_id for room_id, room in rooms.items() if room is not None and room.kind == MEMBERS}
            pairs = {(item["userId"], item["roomId"]): None for _, item, _ in marked if item["roomId"] in members}
            memberships = self._memberships.get_many(list(pairs))
        except StoreUnavailable as error:
            return {index: error for index, _, _ in marked}
        refused: dict[int, Failure] = {}
        for index, item, at in marked:
            membership = memberships.get((item["userId"], item["roomId"]))
            intervals = ALWAYS if membership is None else as_of(membership.intervals, at)
            timestamp = time_in_room(intervals, item["timestamp"]) if intervals else None
            if rooms[item["roomId"]] is None or timestamp is None:
                refused[index] = PoisonRecord("not_allowed")
            else:
                set_time(item, timestamp)
        return refused

    def _rooms_of(self, marked: Sequence[tuple[int, Item, str]]) -> dict[str, Room | None]:
        """The rooms. A missing one is created as an open one, if a first message may create it."""
        rooms = self._rooms.get_many(list(dict.fromkeys(item["roomId"] for _, item, _ in marked)))
        for _, item, at in marked:
            room_id = item["roomId"]
            if rooms[room_id] is None and may_create(room_id, self._by_first_message):
                rooms[room_id] = self._rooms.create(Room(room_id, OPEN, GROUP, at, item["userId"]))
        return rooms


def as_of(intervals: Sequence[Interval], at: str) -> Intervals:
    """The ``intervals`` of a user who was in the room at the time ``at``, as they were then; none if they were not.

    The last one covers ``at``, or begins within ``CLOCK_SKEW`` after it.
    """
    latest = micros_of(at) + CLOCK_SKEW
    known = [each for each in intervals if micros_of(each.joined_at) <= latest]
    if not known or (known[-1].left_at is not None and known[-1].left_at <= at):
        return ()
    return (*known[:-1], Interval(known[-1].joined_at, None))


def may_create(room_id: str, by_first_message: bool) -> bool:
    """Whether a message to a room that does not exist creates it.

    It would be open, and direct rooms never are. Each page of a room with shards costs more, so its id is no accident.
    """
    is_plain = not keys.is_reserved_room(room_id) and shard_count(room_id) == 1
    return by_first_message and is_plain and not keys.flaw_of(room_id)


def time_in_room(intervals: Sequence[Interval], timestamp: str) -> str | None:
    """The time that a message of ``timestamp`` gets, or ``None``: it may not be written.

        joined 10:00, left 11:00, joined 12:00:   09:59 → 10:00   10:30 → 10:30   11:59 → 12:00   11:01 → refused

    ``intervals`` are those of its sender, who is in the room. A time up to ``CLOCK_TOLERANCE`` before a join becomes
    the time of the join, so that everyone who was in the room then can read the message. The same message gets the
    same time whenever it is sent. So a time shortly after a leave is refused: a message of a clock ahead may have been
    stored at that time, before the leave.
    """
    if any(each.covers(timestamp) for each in intervals):
        return timestamp
    at = micros_of(timestamp)
    joined_at = next(each.joined_at for each in intervals if timestamp < each.joined_at)
    is_after_leave = any(0 <= at - micros_of(each.left_at) < AHEAD_LIMIT for each in intervals if each.left_at)
    return None if is_after_leave or micros_of(joined_at) - at > CLOCK_TOLERANCE else joined_at
