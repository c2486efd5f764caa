"""Rooms, memberships and last activity in memory, for tests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any

from headrace.core.errors import StoreUnavailable
from headrace.core.items import Item
from headrace.features.edits.change import Change as MessageChange
from headrace.features.edits.change import edits_of, partition
from headrace.features.invitations.dynamodb import OPEN_LIMIT, UNOPENED_LIMIT, too_many
from headrace.features.reactions.reaction import reactions_partition
from headrace.streams.chat.message_row import AWAITED, CHANGE_KEY, REACTIONS_AT, SHOWN_REACTIONS, is_message
from headrace.streams.chat.messages.positions import STORED_AT
from headrace.streams.chat.rooms.consent import Invitation
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
from headrace.streams.chat.rooms.rooms import DIRECT_SEATS, Room, seats_taken


class MemoryRooms:
    """Rooms in memory, for tests: ``rows`` by id. ``down``: every call fails. ``raised`` counts calls of raise_to.

    Its methods about retentions are those of CachedRooms with an empty cache.
    """

    def __init__(self) -> None:
        self.rows: dict[str, Room] = {}
        self.seats: dict[str, set[str]] = {}
        self.down = False
        self.reads = self.raised = 0

    def get(self, room_id: str) -> Room | None:
        self._call()
        return self.rows.get(room_id)

    def get_many(self, room_ids: Sequence[str]) -> dict[str, Room | None]:
        self._call()
        return {room_id: self.rows.get(room_id) for room_id in room_ids}

    def create(self, room: Room) -> Room:
        self._call()
        return self.rows.setdefault(room.room_id, room)

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
        seats = self.seats.setdefault(room_id, set())
        if user_id not in seats and len(seats) >= DIRECT_SEATS:
            raise seats_taken(user_id)
        seats.add(user_id)

    def raise_to(self, room_id: str, key: str) -> Retention | None:
        self.raised += 1
        self._call()
        room = self.rows.get(room_id)
        if room is None:
            return None
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
        return AS_STAGE if room is None else room.retention

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
        self.reads += 1
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


class MemoryInvitations:
    """Invitations in memory, for tests: ``rows`` by (userId, roomId), the accepted ones, and blocks since when."""

    def __init__(self) -> None:
        self.rows: dict[Pair, Invitation] = {}
        self.accepted: set[Pair] = set()
        self.between: Callable[[], None] = lambda: None
        """Called between the writes of a method that has several in DynamoDB."""
        self.blocks_since: dict[Pair, str] = {}
        self.added: dict[Pair, set[str]] = {}

    def get(self, user_id: str, room_id: str) -> Invitation | None:
        return self.rows.get((user_id, room_id))

    def add(self, invitation: Invitation) -> None:
        user_id, inviter = invitation.user_id, invitation.invited_by
        rooms = {
            room_id for (user, room_id), each in self.rows.items() if (user, each.invited_by) == (user_id, inviter)
        }
        if len(rooms | {invitation.room_id}) > OPEN_LIMIT:
            raise too_many(user_id)
        self.between()
        self.rows[user_id, invitation.room_id] = invitation

    def set_role(self, invitation: Invitation, role: Role) -> bool:
        is_same = self._is_same(invitation)
        if is_same:
            self.rows[invitation.user_id, invitation.room_id] = replace(invitation, role=role)
        return is_same

    def accept(self, invitation: Invitation) -> bool:
        if not self._is_same(invitation):
            return False
        self.accepted.add((invitation.user_id, invitation.room_id))
        return True

    def withdraw(self, invitation: Invitation) -> bool:
        pair = invitation.user_id, invitation.room_id
        if pair in self.accepted:
            return False
        self.rows.pop(pair, None)
        return True

    def remove(self, invitation: Invitation) -> None:
        if self._is_same(invitation):
            self._delete((invitation.user_id, invitation.room_id))

    def _is_same(self, invitation: Invitation) -> bool:
        found = self.rows.get((invitation.user_id, invitation.room_id))
        return found is not None and replace(found, role=invitation.role) == invitation

    def _delete(self, pair: Pair) -> None:
        del self.rows[pair]
        self.accepted.discard(pair)

    def page(self, user_id: str, after: str | None, limit: int) -> tuple[list[Invitation], bool]:
        rooms = sorted(room for user, room in self.rows if user == user_id and (after is None or room > after))
        return [self.rows[user_id, room_id] for room_id in rooms[:limit]], len(rooms) > limit

    def of_room(self, room_id: str, after: str | None, limit: int) -> tuple[list[Invitation], str | None]:
        users = sorted(user for user, room in self.rows if room == room_id and (after is None or user > after))
        return [self.rows[user, room_id] for user in users[:limit]], users[limit - 1] if len(users) > limit else None

    def count_added(self, user_id: str, by: str, join: str, ended: Callable[[set[str]], set[str]]) -> bool:
        counted = self.added.setdefault((user_id, by), set())
        if len(counted | {join}) > UNOPENED_LIMIT:
            counted -= ended(set(counted))
        may = (user_id, by) not in self.blocks_since and len(counted | {join}) <= UNOPENED_LIMIT
        if may:
            counted.add(join)
        return may

    def blocks(self, pairs: Collection[Pair]) -> set[Pair]:
        return set(pairs) & self.blocks_since.keys()

    def block(self, user_id: str, other_id: str, at: str) -> tuple[str, set[str]]:
        since = self.blocks_since.setdefault((user_id, other_id), at)
        self.between()
        found = [each for each in self.rows.values() if (each.user_id, each.invited_by) == (user_id, other_id)]
        for each in found:
            self._delete((each.user_id, each.room_id))
        return since, {each.room_id for each in found if each.invited_at <= since}

    def unblock(self, user_id: str, other_id: str) -> None:
        self.blocks_since.pop((user_id, other_id), None)

    def blocked(self, user_id: str, after: str | None, limit: int) -> tuple[list[tuple[str, str]], str | None]:
        others = sorted(
            other for user, other in self.blocks_since if user == user_id and (after is None or other > after)
        )
        found = others[:limit]
        return [(each, self.blocks_since[user_id, each]) for each in found], found[-1] if len(others) > limit else None


class MemoryChanges:
    """Changes of messages in memory, for tests, in the ``rows`` of their table. ``down``: every call fails.

    A call is one step for other threads, as in DynamoDB.
    """

    def __init__(self, rows: dict[tuple[object, ...], Item]) -> None:
        self.rows = rows
        self.down = False
        self._one_step = RLock()

    def message(self, room_id: str, key: str) -> Item | None:
        self._call()
        row = self.rows.get((room_id, key))
        return dict(row) if row is not None and is_message(row) else None

    def rows_of(self, places: Collection[tuple[str, str]], *_: str) -> dict[tuple[str, str], Item]:
        self._call()
        return {place: dict(self.rows[place]) for place in places if place in self.rows}

    def await_message(self, room_id: str, key: str, value: str, expires_at: int | None) -> bool:
        with self._one_step:
            if self.message(room_id, key) is not None:
                return False
            expiry = {} if expires_at is None else {"expiresAt": expires_at}
            row = {"roomId": room_id, "timestampSk": key, AWAITED: value, **expiry}
            self.rows[room_id, key] = self.rows.get((room_id, key), {}) | row
            return True

    def store_awaited(self, message: Item, value: str) -> bool:
        with self._one_step:
            self._call()
            place = message["roomId"], message["timestampSk"]
            if self.rows.get(place, {}).get(AWAITED) != value:
                return False
            self.rows[place] = message
            return True

    def changes_of(self, room_id: str, key: str) -> Iterator[Item]:
        place = partition(room_id)
        found = [row for row in list(self.rows.values()) if row["roomId"] == place]
        for row in sorted(found, key=lambda row: str(row["timestampSk"]), reverse=True):
            self._call()
            if row["timestampSk"].startswith(f"{key}#"):
                yield row
        self._call()

    def apply(self, room_id: str, key: str, change: MessageChange, stored_at: str) -> Item | None:
        with self._one_step:
            row = self.message(room_id, key)
            if row is None or row.get(CHANGE_KEY, "") >= change.key:
                return None
            change.apply_to(row)
            self.rows[room_id, key] = row | {STORED_AT: stored_at}
            return self.rows[room_id, key]

    def set_stored(self, room_id: str, key: str, stored_at: str) -> None:
        with self._one_step:
            row = self.message(room_id, key)
            if row is not None and row.get(STORED_AT, "") < stored_at:
                self.rows[room_id, key] = row | {STORED_AT: stored_at}

    def set_expiry(self, room_id: str, key: str, expires_at: int) -> None:
        with self._one_step:
            row = self.message(room_id, key)
            if row is not None and row.get("expiresAt", expires_at + 1) > expires_at:
                self.rows[room_id, key] = row | {"expiresAt": expires_at}

    def forget_edits(self, room_id: str, key: str) -> None:
        with self._one_step:
            self._call()
            for place in list(self.rows):
                if place[0] == partition(room_id) and str(place[1]).startswith(edits_of(key)):
                    del self.rows[place]

    def reactions_to(self, room_id: str, key: str) -> Iterator[Item]:
        self._call()
        place = reactions_partition(room_id, key)
        found = [row for row in list(self.rows.values()) if row["roomId"] == place]
        return iter(sorted(found, key=lambda row: str(row["timestampSk"])))

    def show_reactions(
        self, room_id: str, key: str, shown: Mapping[str, Any], before: str | None, stored_at: str
    ) -> Item | None:
        with self._one_step:
            row = self.message(room_id, key)
            if row is None or "deletedAt" in row or row.get(REACTIONS_AT) != before:
                return None
            row = {name: value for name, value in row.items() if name not in SHOWN_REACTIONS}
            self.rows[room_id, key] = row | {**shown, STORED_AT: stored_at}
            return self.rows[room_id, key]

    def forget_rows(self, rows: Collection[Item]) -> None:
        self._call()
        for row in rows:
            self.rows.pop((row["roomId"], row["timestampSk"]), None)

    def _call(self) -> None:
        if self.down:
            raise StoreUnavailable("the table is unavailable")
