"""Rooms, and the newest activity in each.

A PUT creates a room, and the first message to an unknown room creates an open one. A conditional put decides between
two creators. Kind, form, creator and creation time never change, so they are cached without expiry. Name and topic may
change, and are never cached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from headrace.core.errors import Conflict, FieldError, NotFound, echo
from headrace.core.keys import is_reserved_room
from headrace.runtime.bounded import BoundedDict

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

    def to_body(self) -> dict[str, Any]:
        """The room in a response. A new row is the same without ``None``."""
        return {
            "roomId": self.room_id,
            "kind": self.kind,
            "form": self.form,
            "name": self.name,
            "topic": self.topic,
            "createdAt": self.created_at,
            "createdBy": self.created_by,
        }


class Rooms(Protocol):
    """Stores rooms. Every method may raise StoreUnavailable."""

    def get(self, room_id: str) -> Room | None:
        """The room, if there is one."""

    def get_many(self, room_ids: Sequence[str]) -> dict[str, Room | None]:
        """Several rooms; those that could not be read now are left out."""

    def create(self, room: Room) -> Room:
        """Create ``room``, unless a room with its id exists. Returns the room that exists afterwards."""


class RoomTable(Rooms, Protocol):
    """Rooms that may be changed."""

    def change(self, room_id: str, texts: Mapping[str, str | None]) -> Room:
        """Set the ``name`` or ``topic`` of an existing room, or remove it (``None``). Returns the changed room."""

    def take_seat(self, room_id: str, user_id: str) -> None:
        """Take one of the two seats of a direct room, or keep it. Raises Conflict if others have both."""


class RoomActivity(Protocol):
    """Stores the newest activity of rooms. Every method may raise StoreUnavailable."""

    def read_activity(self, room_ids: Sequence[str]) -> dict[str, Room]:
        """The rooms among ``room_ids`` that exist; the reads are consistent."""

    def raise_to(self, room_id: str, key: str) -> bool:
        """Make this sort key the room's newest. Returns ``False`` if a newer one is stored, or there is no room."""


def first_room(room_id: str, created_at: str, user_id: str) -> Room:
    """The room of a message that was stored before its room: an open one, but a direct one if its id is reserved."""
    kind, form = (MEMBERS, DIRECT) if is_reserved_room(room_id) else (OPEN, GROUP)
    return Room(room_id, kind, form, created_at, user_id)


def existing(room: Room | None, room_id: str) -> Room:
    """``room``, if it exists. Raises NotFound."""
    if room is None:
        raise no_room(room_id)
    return room


def no_room(room_id: str) -> NotFound:
    """The error for a room that does not exist."""
    detail = FieldError("roomId", "is not the id of a room", echo(room_id), "a room that was created, or has a message")
    return NotFound("there is no such room", details=[detail])


def seats_taken(user_id: str) -> Conflict:
    """The error for a third user of a direct room."""
    detail = FieldError("userId", "has no seat in this direct room", echo(user_id), "one of its two users")
    return Conflict("a direct room has two users, and both seats are taken", details=[detail])


def _lasting(room: Room) -> Room:
    """What never changes of a room."""
    return replace(room, name=None, topic=None, last_key=None) if room.name or room.topic or room.last_key else room


class CachedRooms:
    """A cache of up to ``limit`` existing rooms in front of a table. A missing room is looked up every time.

    Rooms from the cache have no name, topic or activity; ``table`` has them. The default takes a few megabytes.
    """

    def __init__(self, rooms: RoomTable, limit: int = 10_000) -> None:
        self.table = rooms
        self._cached: BoundedDict[str, Room] = BoundedDict(limit)

    def cached(self, room_id: str) -> Room | None:
        """The room if it is cached. Does not read the table."""
        return self._cached.get(room_id)

    def get(self, room_id: str) -> Room | None:
        room = self._cached.get(room_id)
        if room is None and (room := self.table.get(room_id)) is not None:
            self._cached[room_id] = _lasting(room)
        return room

    def get_many(self, room_ids: Sequence[str]) -> dict[str, Room | None]:
        found: dict[str, Room | None] = {each: self._cached[each] for each in room_ids if each in self._cached}
        unknown = [each for each in room_ids if each not in found]
        if unknown:
            read = self.table.get_many(unknown)
            for room in read.values():
                if room is not None:
                    self._cached[room.room_id] = _lasting(room)
            found |= read
        return found

    def create(self, room: Room) -> Room:
        existing = self.table.create(room)
        self._cached[room.room_id] = _lasting(existing)
        return existing
