"""Rooms, and the newest activity in each.

A PUT creates a room, and the first message to an unknown room creates an open one. A conditional put decides between
two creators. Kind, form, creator and creation time never change, so they are cached without expiry. Name and topic may
change, and are never cached. How long a room keeps its messages is cached for ``RETENTION_SECONDS``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from headrace.core.collections import BoundedDict
from headrace.core.errors import Conflict, FieldError, StoreUnavailable, echo
from headrace.core.keys import is_reserved_room
from headrace.runtime.observability import report
from headrace.streams.chat.rooms.retention import AS_STAGE, RETENTION_SECONDS, Retention

if TYPE_CHECKING:
    from headrace.streams.chat.rooms.dynamodb import RoomTable

RoomKind = Literal["open", "members"]
Form = Literal["direct", "group"]

OPEN: RoomKind = "open"
MEMBERS: RoomKind = "members"
DIRECT: Form = "direct"
GROUP: Form = "group"
DIRECT_SEATS = 2


@dataclass(frozen=True, slots=True)
class Room:
    """A room; ``created_at`` is a canonical time, ``created_by`` the user id of its owner.

    ``last_key`` is the sort key of its newest known message.
    """

    room_id: str
    kind: RoomKind
    form: Form
    created_at: str
    created_by: str
    name: str | None = None
    topic: str | None = None
    last_key: str | None = None
    retention: Retention = AS_STAGE

    def to_body(self) -> dict[str, Any]:
        """The room in a response. A new row is the same without ``None``."""
        return {
            "roomId": self.room_id,
            "kind": self.kind,
            "form": self.form,
            "name": self.name,
            "topic": self.topic,
            "retentionDays": self.retention.days,
            "createdAt": self.created_at,
            "createdBy": self.created_by,
        }


def first_room(room_id: str, created_at: str, user_id: str) -> Room:
    """The room of a message that was stored before its room: an open one, but a direct one if its id is reserved."""
    kind, form = (MEMBERS, DIRECT) if is_reserved_room(room_id) else (OPEN, GROUP)
    return Room(room_id, kind, form, created_at, user_id)


def seats_taken(user_id: str) -> Conflict:
    """The error for a third user of a direct room."""
    detail = FieldError("userId", "has no seat in this direct room", echo(user_id), "one of its two users")
    return Conflict("a direct room has two users, and both seats are taken", details=[detail])


class CachedRooms:
    """A cache of up to ``limit`` existing rooms in front of a table. A missing room is looked up every time.

    Rooms from the cache have no name, topic, retention or activity; ``table`` has them. The default takes a few
    megabytes. ``seconds`` gives the time of the system: the monotonic one may stop while an environment is frozen.
    """

    def __init__(self, rooms: RoomTable, limit: int = 10_000, seconds: Callable[[], float] = time.time) -> None:
        self.table = rooms
        self._cached: BoundedDict[str, Room] = BoundedDict(limit)
        self._retentions: BoundedDict[str, tuple[Retention, float]] = BoundedDict(limit)
        self._seconds = seconds

    def cached(self, room_id: str) -> Room | None:
        """The room if it is cached. Does not read the table."""
        return self._cached.get(room_id)

    def get(self, room_id: str) -> Room | None:
        room = self._cached.get(room_id)
        if room is None and (room := self.table.get(room_id)) is not None:
            self._keep(room)
        return room

    def get_many(self, room_ids: Sequence[str]) -> dict[str, Room | None]:
        found: dict[str, Room | None] = {each: self._cached[each] for each in room_ids if each in self._cached}
        unknown = [each for each in room_ids if each not in found]
        if unknown:
            read = self.table.get_many(unknown)
            for room in read.values():
                if room is not None:
                    self._keep(room)
            found |= read
        return found

    def create(self, room: Room) -> Room:
        existing = self.table.create(room)
        self._keep(existing)
        return existing

    def _keep(self, room: Room) -> None:
        # Only what never changes of a room.
        self._cached[room.room_id] = replace(room, name=None, topic=None, last_key=None, retention=AS_STAGE)
        self.learn(room.room_id, room.retention)

    def learn(self, room_id: str, retention: Retention) -> None:
        """Remember how long a room keeps messages, which was read elsewhere just now."""
        self._retentions[room_id] = retention, self._seconds()

    def known_retention(self, room_id: str) -> Retention:
        """How long a room keeps messages as far as it is known, without reading."""
        return self._retentions.get(room_id, (AS_STAGE, 0.0))[0]

    def retention(self, room_id: str) -> Retention:
        """How long a room keeps messages, at most ``RETENTION_SECONDS`` ago; longer if the table is unavailable."""
        return self.retentions([room_id])[room_id]

    def retentions(self, room_ids: Collection[str]) -> dict[str, Retention]:
        """The :meth:`retention` of each room, in one read."""
        return self._recent(room_ids, or_old=True)

    def retentions_if_possible(self, room_ids: Collection[str]) -> dict[str, Retention]:
        """The :meth:`retentions` before messages are stored, which does not wait for the table of rooms.

        What is old counts as the stage's: with fewer days than the room has now, messages would be lost.
        """
        try:
            return self._recent(room_ids, or_old=False)
        except StoreUnavailable as error:
            report("retention", f"messages may expire later than their rooms say: {error.message}")
            return dict.fromkeys(room_ids, AS_STAGE)

    def _recent(self, room_ids: Collection[str], *, or_old: bool) -> dict[str, Retention]:
        """Raises StoreUnavailable if what is old cannot be read; with ``or_old``, only if it was never read."""
        now = self._seconds()
        times = {room_id: self._retentions.get(room_id, (AS_STAGE, math.inf))[1] for room_id in room_ids}
        old = [room_id for room_id, at in times.items() if not 0 <= now - at < RETENTION_SECONDS]
        try:
            for room_id, room in (self.table.get_many(old) if old else {}).items():
                # One that is missing is not looked up for each page either.
                self.learn(room_id, AS_STAGE if room is None else room.retention)
        except StoreUnavailable:
            if not or_old or math.inf in times.values():
                raise
        return {room_id: self.known_retention(room_id) for room_id in room_ids}


Rooms: TypeAlias = "RoomTable | CachedRooms"
