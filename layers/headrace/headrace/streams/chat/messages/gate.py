"""Write access: whether a sender may write to a room, checked when a message is accepted."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.errors import FieldError, Forbidden, StoreThrottled, StoreUnavailable, UserError
from headrace.core.sender import ValidatedEvent
from headrace.core.times import Interval
from headrace.runtime.breaker import Cooldown
from headrace.runtime.observability import report
from headrace.streams.chat.messages.check import ALWAYS, Intervals, may_create, time_in_room
from headrace.streams.chat.rooms.access import no_room, not_in_room
from headrace.streams.chat.rooms.dynamodb import Memberships
from headrace.streams.chat.rooms.rooms import GROUP, MEMBERS, OPEN, CachedRooms, Room
from headrace.streams.chat.stream import UNCHECKED

CHECK_SECONDS = 0.5
"""Seconds after which a request reads no further rows. Rights that are unknown by then are checked before storing."""


class RoomGate:
    """Lets every user write to open rooms, and members to ``members`` rooms. The first message creates an open room.

    Without ``by_first_message``, only a trusted sender's message creates one. An open room that was read a moment ago
    costs two dict lookups, any other room one consistent read per request.
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
        """Why each event is refused, or ``None``, in order. Unchecked events are marked with UNCHECKED.

        The others get their ``time_in_room``.
        """
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
        return [refusal(rights.get(each.event["roomId"], ALWAYS), each) for each in events]

    def check(self, caller: Caller, room_id: str, now: int) -> None:
        """Check that ``caller`` may write to an existing room at ``now`` (microseconds).

        Raises:
            Forbidden, NotFound: not so.
            StoreUnavailable: unknown now.
        """
        trusted, at = caller.has(EVENTS_WRITE), times.iso(now)
        if not self._needs_check(room_id, trusted):
            return
        intervals = self._rights(caller, [room_id], trusted, at, creates=False)[room_id]
        if intervals is None:
            raise StoreUnavailable("whether you may write in this room cannot be checked now")
        if (error := _refused_now(intervals, room_id)) is not None:
            raise error

    def _needs_check(self, room_id: str, trusted: bool) -> bool:
        room = self._rooms.cached(room_id)
        return room is None or (room.kind == MEMBERS and not trusted) or not self._rooms.is_recent(room_id)

    def _unread(self, room_id: str, trusted: bool) -> Intervals | None:
        """What is known of the right without reading the tables: an open room stays one while they are unavailable."""
        room = self._rooms.cached(room_id)
        return ALWAYS if trusted or (room is not None and room.kind == OPEN) else None

    def _rights(
        self, caller: Caller, room_ids: Sequence[str], trusted: bool, at: str, *, creates: bool = True
    ) -> dict[str, Intervals | None]:
        """The membership intervals of ``caller`` in each room; ``None``: they could not be read.

        With ``creates``, a room that is missing is created where the caller's message may do so.
        """
        # A trusted sender may write to any room; its rooms are read only to create missing ones.
        rights = {room_id: self._unread(room_id, trusted) for room_id in room_ids}
        deadline = self._monotonic() + CHECK_SECONDS
        if self._cooldown.is_active:
            return rights
        try:
            # Of direct rooms only the membership is read: others must not see whether they exist.
            direct = [] if trusted else [room_id for room_id in room_ids if keys.is_reserved_room(room_id)]
            members = [(caller.subject, room_id) for room_id in direct]
            others = [room_id for room_id in room_ids if room_id not in direct]
            for room_id, room in self._rooms.get_many(others, or_old=False).items():
                held = self._rooms.held_until(room_id)
                is_free = creates and not held
                if room is None and not (is_free and may_create(room_id, trusted or self._by_first_message)):
                    # Missing: an interval without a beginning. Its end is when the id of a deleted room is free.
                    rights[room_id] = (Interval("", held),)
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
            report(type(error).__name__, f"rights cannot be checked now: {error.message}")
        return rights


def refusal(intervals: Intervals | None, message: ValidatedEvent) -> UserError | None:
    """Why a user with these membership ``intervals`` may not write ``message`` to its room now, or ``None``.

    A message that may be written gets its ``time_in_room``, also in its receipt. Intervals that could not be read
    (``None``) refuse nothing: the right is checked before the message is stored.
    """
    if intervals is None or intervals is ALWAYS:
        return None
    if (error := _refused_now(intervals, message.event["roomId"])) is not None:
        return error
    sent = message.event["timestamp"]
    timestamp = time_in_room(intervals, sent)
    if timestamp is None:
        allowed = "a time at which you were in this room"
        text = "is of a time at which you were not in this room"
        return Forbidden(details=[FieldError("timestamp", text, sent, allowed)])
    message.event["timestamp"] = message.receipt["timestamp"] = timestamp
    return None


def _refused_now(intervals: Intervals, room_id: str) -> UserError | None:
    last = intervals[-1] if intervals else None
    if last is not None and last.left_at is not None and not last.joined_at:
        return no_room(room_id, last.left_at)
    return not_in_room(room_id) if last is None or last.left_at is not None else None
