"""Rooms, memberships and last activity in memory, for tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.core.errors import StoreUnavailable
from headrace.core.times import Clock, SystemClock, iso
from headrace.streams.chat.rooms.memberships import (
    JOINS_LIMIT,
    LEAVES_LIMIT,
    MEMBER,
    Change,
    Membership,
    Pair,
    Role,
    forgettable,
    newest,
)
from headrace.streams.chat.rooms.retention import AS_STAGE, Retention
from headrace.streams.chat.rooms.rooms import DIRECT_SEATS, Room, free_from, id_held, seats_taken


class MemoryRooms:
    """Rooms in memory, for tests: ``rows`` by id. ``down``: every call fails. ``raised`` counts calls of raise_to.

    Its methods about retentions are those of CachedRooms with an empty cache.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or SystemClock()
        self.rows: dict[str, Room] = {}
        self.gone: dict[str, Retention] = {}
        """Of deleted rooms, when their ids are free."""
        self.seats: dict[str, set[str]] = {}
        self.down = False
        self.reads = self.raised = 0

    def get(self, room_id: str) -> Room | None:
        self._call()
        return self.rows.get(room_id)

    def get_many(self, room_ids: Sequence[str], *, or_old: bool = True) -> dict[str, Room | None]:
        return {room_id: room for room_id, (room, _) in self.read(room_ids).items()}

    def read(self, room_ids: Collection[str]) -> dict[str, tuple[Room | None, Retention]]:
        if room_ids:
            self._call()
        return {room_id: (self.rows.get(room_id), self.known_retention(room_id)) for room_id in room_ids}

    def create(self, room: Room) -> Room | None:
        self._call()
        gone = self.gone.get(room.room_id, AS_STAGE)
        if room.room_id not in self.rows and gone.gone_before > iso(self.clock.now()):
            return None
        if gone != AS_STAGE:
            room = replace(room, retention=replace(room.retention, gone_before=gone.gone_before))
        return self.rows.setdefault(room.room_id, room)

    def delete(self, room_id: str, at: str) -> None:
        self._call()
        gone = Retention(None, free_from(room_id, at))
        if room_id in self.rows and gone.gone_before > self.gone.get(room_id, AS_STAGE).gone_before:
            del self.rows[room_id]
            self.seats.pop(room_id, None)
            self.gone[room_id] = gone

    def change(
        self, room_id: str, texts: Mapping[str, str | None], retention: tuple[Retention, Retention] | None = None
    ) -> Room | None:
        self._call()
        room = self.rows.get(room_id)
        if room is None or (retention is not None and room.retention != retention[0]):
            return None
        after = room.retention if retention is None else retention[1]
        self.rows[room_id] = replace(room, retention=after, **dict[str, Any](texts))
        return self.rows[room_id]

    def take_seat(self, room_id: str, user_id: str) -> None:
        self._call()
        if room_id in self.gone and room_id not in self.rows:
            raise id_held(room_id, self.gone[room_id].gone_before)
        seats = self.seats.setdefault(room_id, set())
        if user_id not in seats and len(seats) >= DIRECT_SEATS:
            raise seats_taken(user_id)
        seats.add(user_id)

    def raise_to(self, room_id: str, key: str) -> Retention | None:
        self.raised += 1
        self._call()
        room = self.rows.get(room_id)
        if room is None:
            return self.gone.get(room_id)
        if (room.last_key or "") < key:
            self.rows[room_id] = replace(room, last_key=key)
        return room.retention

    def retention(self, room_id: str) -> Retention:
        return self.retentions([room_id])[room_id]

    def retentions(self, room_ids: Collection[str]) -> dict[str, Retention]:
        if self.down:
            raise StoreUnavailable("rooms are unavailable")
        return {room_id: self.known_retention(room_id) for room_id in room_ids}

    def retentions_if_possible(self, room_ids: Collection[str]) -> dict[str, Retention]:
        return {room_id: self.known_retention(room_id) for room_id in room_ids}

    def known_retention(self, room_id: str) -> Retention:
        room = self.rows.get(room_id)
        return self.gone.get(room_id, AS_STAGE) if room is None else room.retention

    def held_until(self, room_id: str) -> str:
        gone = self.known_retention(room_id).gone_before
        return gone if gone > iso(self.clock.now()) else ""

    def learn(self, room_id: str, retention: Retention) -> None:
        """It is known anyway."""

    def _call(self) -> None:
        self.reads += 1
        if self.down:
            raise StoreUnavailable("rooms are unavailable")


class MemoryMemberships:
    """Memberships in memory, for tests: ``rows`` by (userId, roomId). ``down``: every call fails."""

    def __init__(self) -> None:
        self.rows: dict[Pair, Membership] = {}
        self.down = False
        self.reads = 0

    def get(self, user_id: str, room_id: str) -> Membership:
        self.reads += 1
        return self._row(user_id, room_id)

    def get_many(self, pairs: Sequence[Pair]) -> dict[Pair, Membership]:
        self.reads += bool(pairs)
        return {(user_id, room_id): self._row(user_id, room_id) for user_id, room_id in pairs}

    def add(self, change: Change) -> Membership:
        row = self._row(change.user_id, change.room_id)
        joined = change.kind == "join"
        known, limit = (row.joins, JOINS_LIMIT) if joined else (row.leaves, LEAVES_LIMIT)
        if change.event not in known and len(known) >= limit:
            gone = forgettable(row.joins, row.leaves)
            self._put(replace(row, joins=row.joins - gone, leaves=row.leaves - gone))
            return self.add(change)
        row = replace(row, username=change.username or row.username)
        if joined:
            role = change.role or row.role
            added_by = change.added_by
            return self._put(
                replace(row, joins=known | {change.event}, role=role, left_for_good=False, added_by=added_by)
            )
        return self._put(replace(row, leaves=known | {change.event}, role=MEMBER))

    def set_role(self, user_id: str, room_id: str, role: Role) -> Membership:
        return self._put(replace(self._row(user_id, room_id), role=role))

    def users_of(self, room_id: str, after: str | None, limit: int) -> tuple[list[str], bool]:
        users = sorted(user for user, room in self.rows if room == room_id and (after is None or user > after))
        return users[:limit], len(users) > limit

    def rooms_of(self, user_id: str, limit: int) -> tuple[list[Membership], bool]:
        self.reads += 1
        return newest((self._row(*pair) for pair in sorted(self.rows) if pair[0] == user_id), limit)

    def is_known(self, user_id: str) -> bool:
        return any(pair[0] == user_id for pair in self.rows)

    def leave_for_good(self, user_id: str, room_id: str) -> None:
        if (row := self._row(user_id, room_id)).joins:
            self._put(replace(row, left_for_good=True))

    def mark_read(self, user_id: str, room_id: str, position: str) -> bool:
        row = self._row(user_id, room_id)
        if (user_id, room_id) not in self.rows or (row.read_to is not None and row.read_to >= position):
            return False
        self._put(replace(row, read_to=position))
        return True

    def _row(self, user_id: str, room_id: str) -> Membership:
        if self.down:
            raise StoreUnavailable("memberships are unavailable")
        return self.rows.get((user_id, room_id)) or Membership(user_id, room_id)

    def _put(self, row: Membership) -> Membership:
        self.rows[row.user_id, row.room_id] = row
        return row
