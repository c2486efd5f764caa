"""Rooms, and the newest activity in each.

A PUT creates a room, and the first message to an unknown room creates an open one. A conditional put decides between
two creators. Kind, form, creator and creation time never change, so they are cached without expiry. Name and topic may
change, and are never cached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from headrace.aws.client import AwsClient
from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.core.items import Item
from headrace.core.keys import is_reserved_room
from headrace.runtime.bounded import BoundedDict
from headrace.runtime.parallel import Parallel
from headrace.storage.dynamodb.client import GET_LIMIT, ConditionFailed, DynamoTable

RoomKind = Literal["open", "members"]
Form = Literal["direct", "group"]

OPEN: RoomKind = "open"
MEMBERS: RoomKind = "members"
DIRECT: Form = "direct"
GROUP: Form = "group"
DIRECT_SEATS = 2
ACTIVITY_AT_ONCE = 8
"""BatchGetItem calls in parallel when the activity of many rooms is read."""
ACTIVITY_TRIES = 2
"""Calls that each chunk of rooms gets; DynamoDB may leave keys of the first one unprocessed."""


@dataclass(frozen=True, slots=True)
class Room:
    """A room; ``created_at`` is a canonical time, ``created_by`` the user id of its owner."""

    room_id: str
    kind: RoomKind
    form: Form
    created_at: str
    created_by: str
    name: str | None = None
    topic: str | None = None

    def to_body(self) -> dict[str, Any]:
        """The room in a response; its row is the same without ``None``."""
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
        ...

    def get_many(self, room_ids: Sequence[str]) -> dict[str, Room | None]:
        """Several rooms; those that could not be read now are left out."""
        ...

    def create(self, room: Room) -> Room:
        """Create ``room``, unless a room with its id exists. Returns the room that exists afterwards."""
        ...

    def change(self, room_id: str, texts: Mapping[str, str | None]) -> Room:
        """Set the ``name`` or ``topic`` of an existing room, or remove it (``None``). Returns the changed room."""
        ...

    def take_seat(self, room_id: str, user_id: str) -> bool:
        """Take one of the two seats of a direct room. Returns whether ``user_id`` has one now."""
        ...


class DynamoRooms:
    """:class:`Rooms` in the Rooms table; every read is consistent."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, "rooms")

    def get(self, room_id: str) -> Room | None:
        row = self._table.get({"roomId": room_id})
        return None if row is None else room_of(row)

    def get_many(self, room_ids: Sequence[str]) -> dict[str, Room | None]:
        found: dict[str, Room | None] = dict.fromkeys(room_ids)
        rows, unread = self._table.get_many([{"roomId": room_id} for room_id in found])
        found |= {row["roomId"]: room_of(row) for row in rows}
        for key in unread:
            del found[key["roomId"]]
        return found

    def create(self, room: Room) -> Room:
        try:
            row = {name: value for name, value in room.to_body().items() if value is not None}
            self._table.put(row, ConditionExpression="attribute_not_exists(roomId)")
        except ConditionFailed:
            existing = self.get(room.room_id)
            if existing is None:
                raise StoreUnavailable("the room cannot be read right now; try again shortly") from None
            return existing
        return room

    def change(self, room_id: str, texts: Mapping[str, str | None]) -> Room:
        given = {name: text for name, text in texts.items() if text is not None}
        parts = [
            "SET " + ", ".join(f"#{name} = :{name}" for name in given) if given else "",
            "REMOVE " + ", ".join(f"#{name}" for name in texts if name not in given) if len(given) < len(texts) else "",
        ]
        row = self._table.update(
            {"roomId": room_id},
            " ".join(part for part in parts if part),
            {":room": room_id, **{f":{name}": text for name, text in given.items()}},
            # No partial row: a room is never deleted, except by an operator.
            ConditionExpression="roomId = :room",
            ExpressionAttributeNames={f"#{name}": name for name in texts},
            ReturnValues="ALL_NEW",
        )
        return room_of(row)

    def take_seat(self, room_id: str, user_id: str) -> bool:
        condition = "attribute_not_exists(seats) OR size(seats) < :seats OR contains(seats, :one)"
        values = {":user": {user_id}, ":one": user_id, ":seats": DIRECT_SEATS}
        return self._table.update_if(condition, {"roomId": room_id}, "ADD seats :user", values)


def first_room(room_id: str, created_at: str, user_id: str) -> Room:
    """The room of a message that was stored before its room: an open one, but a direct one if its id is reserved."""
    kind, form = (MEMBERS, DIRECT) if is_reserved_room(room_id) else (OPEN, GROUP)
    return Room(room_id, kind, form, created_at, user_id)


def room_of(row: Item) -> Room:
    """The room in a row of the Rooms table."""
    return Room(
        row["roomId"], row["kind"], row["form"], row["createdAt"], row["createdBy"], row.get("name"), row.get("topic")
    )


def _without_texts(room: Room) -> Room:
    """What never changes of a room."""
    return replace(room, name=None, topic=None) if room.name or room.topic else room


class CachedRooms:
    """A cache of up to ``limit`` existing rooms in front of :class:`Rooms`. A missing room is looked up every time.

    Rooms from the cache have neither name nor topic. The default takes a few megabytes.
    """

    def __init__(self, rooms: Rooms, limit: int = 10_000) -> None:
        self._rooms = rooms
        self._cached: BoundedDict[str, Room] = BoundedDict(limit)

    def cached(self, room_id: str) -> Room | None:
        """The room if it is cached. Does not read the table."""
        return self._cached.get(room_id)

    def get(self, room_id: str) -> Room | None:
        room = self._cached.get(room_id)
        if room is None and (room := self._rooms.get(room_id)) is not None:
            self._cached[room_id] = _without_texts(room)
        return room

    def read(self, room_id: str) -> Room | None:
        """The room from the table, with its name and topic."""
        return self._rooms.get(room_id)

    def get_many(self, room_ids: Sequence[str]) -> dict[str, Room | None]:
        found: dict[str, Room | None] = {each: self._cached[each] for each in room_ids if each in self._cached}
        unknown = [each for each in room_ids if each not in found]
        if unknown:
            read = self._rooms.get_many(unknown)
            for room in read.values():
                if room is not None:
                    self._cached[room.room_id] = _without_texts(room)
            found |= read
        return found

    def create(self, room: Room) -> Room:
        existing = self._rooms.create(room)
        self._cached[room.room_id] = _without_texts(existing)
        return existing

    def change(self, room_id: str, texts: Mapping[str, str | None]) -> Room:
        return self._rooms.change(room_id, texts)

    def take_seat(self, room_id: str, user_id: str) -> bool:
        return self._rooms.take_seat(room_id, user_id)


@dataclass(frozen=True, slots=True)
class ActiveRoom:
    """A room, and the sort key of its newest known message."""

    room: Room
    last_key: str | None


class RoomActivity(Protocol):
    """Stores the last activity of rooms. Every method may raise StoreUnavailable."""

    def read(self, room_ids: Sequence[str]) -> dict[str, ActiveRoom]:
        """The rooms among ``room_ids`` that exist; the reads are consistent."""
        ...

    def raise_to(self, room_id: str, key: str) -> bool:
        """Make this sort key the room's newest. Returns ``False`` if a newer one is stored, or there is no room."""
        ...


class DynamoRoomActivity:
    """:class:`RoomActivity` in the Rooms table."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, "rooms")
        self._parallel = Parallel(ACTIVITY_AT_ONCE, "rooms")

    def read(self, room_ids: Sequence[str]) -> dict[str, ActiveRoom]:
        keys = [{"roomId": room_id} for room_id in dict.fromkeys(room_ids)]
        chunks = [keys[at : at + GET_LIMIT] for at in range(0, len(keys), GET_LIMIT)]
        return {each.room.room_id: each for chunk in self._parallel.map(self._chunk, chunks) for each in chunk}

    def _chunk(self, keys: Sequence[Item]) -> list[ActiveRoom]:
        found: list[ActiveRoom] = []
        for _ in range(ACTIVITY_TRIES):
            rows, keys = self._table.get_many(keys)
            found += [ActiveRoom(room_of(row), row.get("lastKey")) for row in rows]
            if not keys:
                return found
        raise StoreThrottled("the rooms cannot all be read right now; try again shortly")

    def raise_to(self, room_id: str, key: str) -> bool:
        condition = "attribute_exists(roomId) AND (attribute_not_exists(lastKey) OR lastKey < :key)"
        return self._table.update_if(condition, {"roomId": room_id}, "SET lastKey = :key", {":key": key})
