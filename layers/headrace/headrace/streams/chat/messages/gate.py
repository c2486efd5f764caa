"""Write access: whether a sender may write to a room, checked when a message is accepted, or before it is stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import FieldError, Forbidden, PoisonRecord, StoreThrottled, StoreUnavailable, UserError
from headrace.core.items import Item
from headrace.core.stream import ValidatedEvent
from headrace.core.times import SECOND, Clock, Interval, micros_of
from headrace.runtime.breaker import Cooldown
from headrace.runtime.observability import report
from headrace.storage.ports import Failure
from headrace.streams.chat.messages.positions import mark_late, mark_unlogged
from headrace.streams.chat.messages.room_log import RoomLog
from headrace.streams.chat.rooms.memberships import Memberships, Pair
from headrace.streams.chat.rooms.rooms import (
    GROUP,
    MEMBERS,
    OPEN,
    CachedRooms,
    Room,
    Rooms,
    is_outside,
    no_room,
    not_in_room,
)
from headrace.streams.chat.stream import UNCHECKED

CHECK_SECONDS = 0.5
"""Seconds after which a request reads no further rows. Rights that are unknown by then are checked before storing."""

CLOCK_SKEW = SECOND
"""Microseconds that the clock of a join may be ahead of the clock of an acceptance."""

Intervals = tuple[Interval, ...]

ALWAYS: Intervals = (Interval("", None),)
"""The right to write to an open room: as if the user had always been a member."""
MISSING: Intervals = (Interval("", ""),)
"""There is no such room, and a message of this sender does not create it."""


class RoomGate:
    """Lets every user write to open rooms, and members to ``members`` rooms. The first message creates an open room.

    Without ``by_first_message``, only a trusted sender's message creates one. An open room in the cache costs a dict
    lookup, any other room one consistent read per request.
    """

    def __init__(
        self,
        rooms: CachedRooms,
        memberships: Memberships,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        by_first_message: bool = True,
    ) -> None:
        self._rooms = rooms
        self._by_first_message = by_first_message
        self._memberships = memberships
        self._monotonic = monotonic
        self._cooldown = Cooldown(monotonic)

    def admit(self, caller: Caller, events: Sequence[ValidatedEvent], now: int) -> Sequence[UserError | None]:
        """Why each event is refused, or ``None``, in order. Unchecked events are marked with UNCHECKED."""
        trusted = caller.has(EVENTS_WRITE)
        room_ids = dict.fromkeys(each.event["roomId"] for each in events)
        asked = [room_id for room_id in room_ids if self._needs_check(room_id, trusted)]
        if not asked:
            return [None] * len(events)
        at = times.iso(now)
        rights = self._rights(caller, asked, trusted, at)
        for each in events:
            if rights.get(each.event["roomId"], ALWAYS) is None:
                each.event[UNCHECKED] = at
        return [refusal(rights.get(each.event["roomId"], ALWAYS), each.event) for each in events]

    def _needs_check(self, room_id: str, trusted: bool) -> bool:
        room = self._rooms.cached(room_id)
        return room is None or (room.kind == MEMBERS and not trusted)

    def _rights(self, caller: Caller, room_ids: Sequence[str], trusted: bool, at: str) -> dict[str, Intervals | None]:
        """The membership intervals of ``caller`` in each room; ``None``: they could not be read."""
        # A trusted sender may write to any room; its rooms are read only to create missing ones.
        rights: dict[str, Intervals | None] = dict.fromkeys(room_ids, ALWAYS if trusted else None)
        deadline = self._monotonic() + CHECK_SECONDS
        if self._cooldown.is_active:
            return rights
        try:
            # Of direct rooms only the membership is read: others must not see whether they exist.
            direct = [] if trusted else [room_id for room_id in room_ids if keys.is_reserved_room(room_id)]
            members = [(caller.subject, room_id) for room_id in direct]
            for room_id, room in self._rooms.get_many([each for each in room_ids if each not in direct]).items():
                if room is None and not may_create(room_id, trusted or self._by_first_message):
                    rights[room_id] = MISSING
                elif room is None and self._monotonic() < deadline:
                    room = self._rooms.create(Room(room_id, OPEN, GROUP, at, caller.subject))
                if room is not None and room.kind == OPEN:
                    rights[room_id] = ALWAYS
                elif room is not None and not trusted:
                    members.append((caller.subject, room_id))
            if members and self._monotonic() < deadline:
                found = self._memberships.get_many(members)
                rights |= {room_id: membership.intervals for (_, room_id), membership in found.items()}
        except StoreUnavailable as error:
            if not isinstance(error, StoreThrottled):
                self._cooldown.start()
            report(type(error).__name__, f"rights are checked before storing: {error.message}")
        return rights


def may_create(room_id: str, by_first_message: bool) -> bool:
    """Whether a message to a room that does not exist creates it. It would be open, and direct rooms never are."""
    return by_first_message and not keys.is_reserved_room(room_id)


def refusal(intervals: Intervals | None, event: Mapping[str, Any]) -> UserError | None:
    """Why a user with these membership ``intervals`` may not write ``event`` to its room now, or ``None``.

    Intervals that could not be read (``None``) refuse nothing: the right is checked before the event is stored.
    """
    if intervals is None or intervals is ALWAYS:
        return None
    if intervals is MISSING:
        return no_room(event["roomId"])
    if not intervals or intervals[-1].left_at is not None:
        return not_in_room(event["roomId"])
    if is_outside(intervals, event["timestamp"]):
        allowed = "a time at which you were in this room"
        message = "is of a time at which you were not in this room"
        return Forbidden(details=[FieldError("timestamp", message, event["timestamp"], allowed)])
    return None


class MessageCheck:
    """Chat's hook before rows are stored: stores those marked with UNCHECKED only if their sender may write.

    It also marks messages that are stored late, or while the ``log`` of their rooms is unavailable.
    """

    def __init__(
        self,
        rooms: Rooms,
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

    def before_store(self, items: Sequence[Item]) -> tuple[Sequence[Item], Mapping[int, Failure]]:
        # The mark is removed first, so that neither the table nor a hook sees it.
        marked = [(index, item, item.pop(UNCHECKED)) for index, item in enumerate(items) if UNCHECKED in item]
        refused = self._refused(marked) if marked else {}
        allowed = [item for index, item in enumerate(items) if index not in refused]
        now = self._clock.now()
        mark_late(allowed, now)
        if self._log is not None and self._log.is_unavailable:
            mark_unlogged(allowed, now)
        return allowed, refused

    def _refused(self, marked: Sequence[tuple[int, Item, str]]) -> dict[int, Failure]:
        """The failures of the rows that may not be stored now, by index."""
        try:
            rooms = self._rooms_of(marked)
            members = {room_id for room_id, room in rooms.items() if room is not None and room.kind == MEMBERS}
            pairs = [_pair(item) for _, item, _ in marked if item["roomId"] in members]
            memberships = self._memberships.get_many(list(dict.fromkeys(pairs)))
        except StoreUnavailable as error:
            return {index: error for index, _, _ in marked}
        refused: dict[int, Failure] = {}
        for index, item, at in marked:
            room, membership = rooms[item["roomId"]], memberships.get(_pair(item))
            may = membership is None or may_store(membership.intervals, at, item["timestamp"])
            if room is None or not may:
                refused[index] = PoisonRecord("not_allowed")
        return refused

    def _rooms_of(self, marked: Sequence[tuple[int, Item, str]]) -> dict[str, Room | None]:
        """The rooms. A missing one is created as an open one, if a first message may create it."""
        rooms = self._rooms.get_many(list(dict.fromkeys(item["roomId"] for _, item, _ in marked)))
        for _, item, at in marked:
            room_id = item["roomId"]
            if rooms[room_id] is None and may_create(room_id, self._by_first_message):
                rooms[room_id] = self._rooms.create(Room(room_id, OPEN, GROUP, at, item["userId"]))
        return rooms


def _pair(item: Item) -> Pair:
    return item["userId"], item["roomId"]


def may_store(intervals: Sequence[Interval], at: str, timestamp: str) -> bool:
    """Whether a message that was accepted at ``at`` and carries ``timestamp`` may be stored.

    An interval must cover ``at`` or begin within ``CLOCK_SKEW`` after it. ``timestamp`` must be within an interval,
    give or take ``CLOCK_TOLERANCE``.
    """
    latest = micros_of(at) + CLOCK_SKEW
    was_in = any(
        interval.covers(at) or (at <= interval.joined_at and micros_of(interval.joined_at) <= latest)
        for interval in intervals
    )
    return was_in and not is_outside(intervals, timestamp)
