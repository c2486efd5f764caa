"""Rooms and their activity in the Rooms table, and memberships in the Memberships table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from headrace.core.collections import slices
from headrace.core.errors import StoreThrottled
from headrace.core.items import Item
from headrace.core.times import Clock, SystemClock, iso
from headrace.runtime.aws import AwsClient
from headrace.runtime.threads import Parallel
from headrace.storage.dynamodb.client import GET_LIMIT, ConditionFailed, DynamoTable, to_wire
from headrace.streams.chat.rooms.memberships import (
    JOINS_LIMIT,
    LEAVES_LIMIT,
    MEMBER,
    READ_LIMIT,
    Change,
    Membership,
    Pair,
    Role,
    forgettable,
    newest,
)
from headrace.streams.chat.rooms.retention import AS_STAGE, Retention
from headrace.streams.chat.rooms.rooms import DIRECT_SEATS, Room, free_from, id_held, seats_taken

READS_AT_ONCE = 8
"""BatchGetItem calls in parallel when many rooms are read."""
_FORGET_TRIES = 3
FITS = "attribute_not_exists(#set) OR size(#set) < :limit OR contains(#set, :one)"
"""The condition of an update that adds ``:one`` to a set of at most ``:limit``."""
_IS_THERE = "attribute_exists(kind)"
_DELETE = (
    "SET deletedAt = :at, goneBefore = :gone "
    "REMOVE kind, form, #name, topic, createdAt, createdBy, seats, lastKey, retentionDays"
)


class RoomTable:
    """Rooms in their table. Every read is consistent, every method may raise StoreUnavailable.

    The row of a deleted room has no kind. Its ``goneBefore`` says when its id is free.
    """

    def __init__(self, client: AwsClient, table: str, clock: Clock | None = None) -> None:
        self._table = DynamoTable(client, table, "rooms")
        self._clock = clock or SystemClock()
        self._parallel = Parallel(READS_AT_ONCE, "rooms")

    def get(self, room_id: str) -> Room | None:
        """The room, if there is one."""
        return self.get_many([room_id])[room_id]

    def get_many(self, room_ids: Sequence[str]) -> dict[str, Room | None]:
        """Several rooms; ``None`` where there is none."""
        return {room_id: room for room_id, (room, _) in self.read(room_ids).items()}

    def read(self, room_ids: Collection[str]) -> dict[str, tuple[Room | None, Retention]]:
        """Several rooms, and how long they keep messages. Of a deleted one, only what is later may come."""
        found: dict[str, tuple[Room | None, Retention]] = dict.fromkeys(room_ids, (None, AS_STAGE))
        keys = [{"roomId": room_id} for room_id in found]
        for rows in self._parallel.map(self._table.get_many, slices(keys, GET_LIMIT)):
            found |= {row["roomId"]: (_room(row), _retention(row)) for row in rows}
        return found

    def create(self, room: Room) -> Room | None:
        """Create ``room``, unless a room with its id exists. Returns the room that exists afterwards.

        ``None``: the room with this id was deleted, and the id is not free yet.
        """
        row = {name: value for name, value in room.to_body().items() if value is not None}
        existing = self._put(row, "attribute_not_exists(roomId)")
        if existing is None or "kind" in existing:
            return _room(existing or row)
        if existing["goneBefore"] > iso(self._clock.now()):
            return None
        row |= {name: existing[name] for name in ("deletedAt", "goneBefore")}
        return _room(self._put(row, "attribute_not_exists(kind)") or row)

    def _put(self, row: Item, condition: str) -> Item | None:
        """Write a whole row; the row that is there if ``condition`` does not hold."""
        try:
            self._table.put(row, ConditionExpression=condition, ReturnValuesOnConditionCheckFailure="ALL_OLD")
        except ConditionFailed as error:
            return error.row
        return None

    def delete(self, room_id: str, at: str) -> None:
        """Delete the room of this id, unless it was deleted at ``at`` (a canonical time) or later."""
        condition = f"{_IS_THERE} AND (attribute_not_exists(deletedAt) OR deletedAt < :at)"
        names = {"ExpressionAttributeNames": {"#name": "name"}}
        values = {":at": at, ":gone": free_from(room_id, at)}
        self._table.update_if(condition, {"roomId": room_id}, _DELETE, values, **names)

    def change(
        self, room_id: str, texts: Mapping[str, str | None], retention: tuple[Retention, Retention] | None = None
    ) -> Room | None:
        """Set the ``name`` or ``topic`` of an existing room, or remove it (``None``). Returns the changed room.

        ``retention`` are the room's and the new one; if the room has another one by now, nothing changes: ``None``.
        """
        changes: dict[str, str | int | None] = dict(texts)
        condition = f"roomId = :room AND {_IS_THERE}"
        values: Item = {":room": room_id}
        if retention is not None:
            before, after = retention
            changes |= _retention_row(after)
            for name, value in _retention_row(before).items():
                condition += f" AND attribute_not_exists(#{name})" if value is None else f" AND #{name} = :old_{name}"
                values |= {} if value is None else {f":old_{name}": value}
        given = {name: value for name, value in changes.items() if value is not None}
        removed = ", ".join(f"#{name}" for name in changes if name not in given)
        try:
            row = self._table.update(
                {"roomId": room_id},
                _set(given) + (f" REMOVE {removed}" if removed else ""),
                {**values, **_values(given)},
                ConditionExpression=condition,
                ExpressionAttributeNames=_names(changes),
                ReturnValues="ALL_NEW",
            )
        except ConditionFailed:
            return None
        return _room(row)

    def take_seat(self, room_id: str, user_id: str) -> None:
        """Take one of the two seats of a direct room, or keep it.

        Raises:
            Conflict: others have both, or the room was deleted a moment ago.
        """
        condition = f"{_IS_THERE} AND (attribute_not_exists(seats) OR size(seats) < :seats OR contains(seats, :one))"
        values = {":user": {user_id}, ":one": user_id, ":seats": DIRECT_SEATS}
        if not self._table.update_if(condition, {"roomId": room_id}, "ADD seats :user", values):
            room, retention = self.read([room_id])[room_id]
            raise seats_taken(user_id) if room is not None else id_held(room_id, retention.gone_before)

    def raise_to(self, room_id: str, key: str) -> Retention | None:
        """Make this sort key the room's newest, unless a newer one is stored.

        Returns how long the room keeps messages, at no further cost; ``None`` if there is no room.
        """
        try:
            row = self._table.update(
                {"roomId": room_id},
                "SET lastKey = :key",
                {":key": key},
                ConditionExpression=f"{_IS_THERE} AND (attribute_not_exists(lastKey) OR lastKey < :key)",
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ConditionFailed as error:
            row = error.row
        return _retention(row) if row else None


def _room(row: Item) -> Room | None:
    if "kind" not in row:
        return None
    fixed = row["roomId"], row["kind"], row["form"], row["createdAt"], row["createdBy"]
    return Room(*fixed, row.get("name"), row.get("topic"), row.get("lastKey"), _retention(row))


def _retention(row: Item) -> Retention:
    return Retention(row.get("retentionDays"), row.get("goneBefore", ""))


def _retention_row(retention: Retention) -> dict[str, str | int | None]:
    return {"retentionDays": retention.days, "goneBefore": retention.gone_before or None}


class Memberships:
    """Memberships in their table. Every read of a row is consistent, every method may raise StoreUnavailable."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, "memberships")

    def get(self, user_id: str, room_id: str) -> Membership:
        """The membership of one user in one room."""
        return self.get_many([(user_id, room_id)])[user_id, room_id]

    def get_many(self, pairs: Sequence[Pair]) -> dict[Pair, Membership]:
        """Several memberships, in this order."""
        found = {pair: Membership(*pair) for pair in pairs}
        for row in self._table.get_many([_key(*pair) for pair in found]):
            pair = row["userId"], row["roomId"]
            found[pair] = _membership(*pair, row)
        return found

    def add(self, change: Change) -> Membership:
        """Add a join or leave once. Returns the new membership. A full set forgets its ``forgettable`` events."""
        is_join = change.kind == "join"
        name, limit, removed = ("joins", JOINS_LIMIT, "leftForGood") if is_join else ("leaves", LEAVES_LIMIT, "role")
        added_by = change.added_by if is_join else None
        given = {"username": change.username, "role": change.role if is_join else None, "addedBy": added_by}
        sets = {attribute: text for attribute, text in given.items() if text is not None}
        forgets = ", addedBy" if is_join and added_by is None else ""
        expression = f"ADD #set :event{_set(sets)} REMOVE #removed{forgets}"
        values: Item = {":event": {change.event}, ":one": change.event, ":limit": limit, **_values(sets)}
        names = {"#set": name, "#removed": removed, **_names(sets)}
        parameters = {"ExpressionAttributeNames": names, "ConditionExpression": FITS}
        for _ in range(_FORGET_TRIES):
            try:
                return self._update(change.user_id, change.room_id, expression, values, **parameters)
            except ConditionFailed:
                self._forget(change.user_id, change.room_id)
        raise StoreThrottled("this membership changes too often right now; try again shortly")

    def _forget(self, user_id: str, room_id: str) -> None:
        """Make room in a full row."""
        row = self.get(user_id, room_id)
        given = forgettable(row.joins, row.leaves)
        values = {":joins": set(given & row.joins), ":leaves": set(given & row.leaves)}
        parts = [f"{name[1:]} {name}" for name, events in values.items() if events]
        if parts:
            given_values = {name: events for name, events in values.items() if events}
            self._table.update(_key(user_id, room_id), "DELETE " + ", ".join(parts), given_values)

    def set_role(self, user_id: str, room_id: str, role: Role) -> Membership:
        """Set the role. Returns the new membership."""
        names = {"#role": "role"}
        return self._update(user_id, room_id, "SET #role = :role", {":role": role}, ExpressionAttributeNames=names)

    def users_of(self, room_id: str, after: str | None, limit: int) -> tuple[list[str], bool]:
        """Up to ``limit`` users who are or were in the room, by id, and whether there are more; read from an index."""
        start = {} if after is None else {"ExclusiveStartKey": to_wire(_key(after, room_id))}
        rows, more = self._table.query("roomId", room_id, IndexName="RoomMembers", Limit=limit, **start)
        return [row["userId"] for row in rows], more

    def rooms_of(self, user_id: str, limit: int) -> tuple[list[Membership], bool]:
        """The ``newest`` memberships of a user, and whether there are more."""
        rows = self._table.query_all("userId", user_id, ConsistentRead=True)
        read = [_membership(user_id, row["roomId"], row) for row in islice(rows, READ_LIMIT)]
        found, more = newest(read, limit)
        return found, more or len(read) == READ_LIMIT

    def is_known(self, user_id: str) -> bool:
        """Whether the user is or was in any room."""
        return bool(self._table.query("userId", user_id, Limit=1)[0])

    def leave_for_good(self, user_id: str, room_id: str) -> None:
        """Hide a room that the user has left from their lists until they rejoin."""
        self._table.update_if(
            "attribute_exists(joins)", _key(user_id, room_id), "SET leftForGood = :true", {":true": True}
        )

    def mark_read(self, user_id: str, room_id: str, position: str) -> bool:
        """Move the read mark of an existing membership forward to ``position``. Returns whether it moved."""
        condition = "attribute_exists(userId) AND (attribute_not_exists(readTo) OR readTo < :position)"
        key = _key(user_id, room_id)
        return self._table.update_if(condition, key, "SET readTo = :position", {":position": position})

    def _update(self, user_id: str, room_id: str, expression: str, values: Item, **parameters: Any) -> Membership:
        key = _key(user_id, room_id)
        row = self._table.update(key, expression, values, ReturnValues="ALL_NEW", **parameters)
        return _membership(user_id, room_id, row)


def _set(texts: Collection[str]) -> str:
    return " SET " + ", ".join(f"#{name} = :{name}" for name in texts) if texts else ""


def _names(texts: Iterable[str]) -> dict[str, str]:
    return {f"#{name}": name for name in texts}


def _values(texts: Mapping[str, Any]) -> Item:
    return {f":{name}": text for name, text in texts.items()}


def _key(user_id: str, room_id: str) -> Item:
    return {"userId": user_id, "roomId": room_id}


def _membership(user_id: str, room_id: str, row: Item) -> Membership:
    return Membership(
        user_id,
        room_id,
        frozenset(row.get("joins", ())),
        frozenset(row.get("leaves", ())),
        row.get("role", MEMBER),
        row.get("username"),
        row.get("readTo"),
        row.get("leftForGood", False),
        row.get("addedBy"),
    )
