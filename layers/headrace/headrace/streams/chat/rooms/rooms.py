"""Rooms, and the newest activity in each.

A PUT creates a room, and the first message to an unknown room creates an open one. A conditional put decides between
two creators. Kind, form, creator and creation time never change until the room is deleted. They are cached, and so is
how long the room keeps its messages. After ``RETENTION_SECONDS`` they are read again. Name and topic may change, and
are never cached.

The row of a deleted room stays: it says when its id is free, and hides all messages from before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Container, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from headrace.core import times
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
HELD_DAYS = 15
"""Days until the id of a deleted room is free: its dead letters wait for 14."""


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


def free_from(room_id: str, deleted_at: str) -> str:
    """The canonical time from which another room can have the id of one that was deleted at ``deleted_at``.

    The id of a direct room follows from its two users, who can open it again as soon as all environments know that it
    was deleted: what they accept until then is of the old room.
    """
    held = round(RETENTION_SECONDS) * times.SECOND if is_reserved_room(room_id) else HELD_DAYS * times.DAY
    return times.iso(times.micros_of(deleted_at) + held)


def seats_taken(user_id: str) -> Conflict:
    """The error for a third user of a direct room."""
    detail = FieldError("userId", "has no seat in this direct room", echo(user_id), "one of its two users")
    return Conflict("a direct room has two users, and both seats are taken", details=[detail])


def id_held(room_id: str, free_from: str) -> Conflict:
    """The error for the id of a room that was deleted, which is free from this time on."""
    allowed = f"another id; this one is free from {free_from} on"
    detail = FieldError("roomId", "is the id of a room that was deleted", echo(room_id), allowed)
    return Conflict("a room that was deleted has this id", details=[detail])


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
        """The room if it is cached, however old that is. Does not read the table."""
        return self._cached.get(room_id)

    def is_recent(self, room_id: str) -> bool:
        """Whether the room was read at most ``RETENTION_SECONDS`` ago."""
        return 0 <= self._seconds() - self._retentions.get(room_id, (AS_STAGE, -math.inf))[1] < RETENTION_SECONDS

    def get(self, room_id: str) -> Room | None:
        return self.get_many([room_id])[room_id]

    def get_many(self, room_ids: Sequence[str], *, or_old: bool = True) -> dict[str, Room | None]:
        """With ``or_old``, rooms that were read before are those of then while the table is unavailable."""
        found: dict[str, Room | None] = {each: self._cached[each] for each in room_ids if each in self._cached}
        return found | self._read_old(room_ids, found, or_old=or_old)

    def create(self, room: Room) -> Room | None:
        existing = self.table.create(room)
        if existing is not None:
            self._keep(room.room_id, existing, existing.retention)
        return existing

    def _read_old(self, room_ids: Collection[str], known: Container[str], *, or_old: bool) -> dict[str, Room | None]:
        """Read again what is not ``known``, or old; of ``or_old``, only the former raises StoreUnavailable."""
        old = [each for each in room_ids if each not in known or not self.is_recent(each)]
        try:
            read = self.table.read(old) if old else {}
        except StoreUnavailable:
            if not or_old or not all(each in known for each in old):
                raise
            read = {}
        for room_id, found in read.items():
            self._keep(room_id, *found)
        return {room_id: room for room_id, (room, _) in read.items()}

    def _keep(self, room_id: str, room: Room | None, retention: Retention) -> None:
        self._cached.pop(room_id, None)
        if room is not None:
            # Only what never changes of a room.
            self._cached[room_id] = replace(room, name=None, topic=None, last_key=None, retention=AS_STAGE)
        self.learn(room_id, retention)

    def learn(self, room_id: str, retention: Retention) -> None:
        """Remember how long a room keeps messages, which was read elsewhere just now."""
        self._retentions[room_id] = retention, self._seconds()
        if self.held_until(room_id):
            self._cached.pop(room_id, None)  # it is deleted

    def held_until(self, room_id: str) -> str:
        """When the id of a deleted room is free, as far as it is known; empty if it is, or no room was deleted."""
        gone = self.known_retention(room_id).gone_before
        return gone if gone > times.iso(round(self._seconds() * times.SECOND)) else ""

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
        # One that is missing is not looked up for each page either.
        self._read_old(room_ids, self._retentions, or_old=or_old)
        return {room_id: self.known_retention(room_id) for room_id in room_ids}


Rooms: TypeAlias = "RoomTable | CachedRooms"
