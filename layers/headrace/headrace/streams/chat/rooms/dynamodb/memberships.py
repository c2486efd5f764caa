"""Memberships in the Memberships table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

from headrace.core.errors import StoreThrottled
from headrace.core.items import Item, to_wire
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import ConditionFailed, DynamoTable
from headrace.streams.chat.rooms.fold import forgettable
from headrace.streams.chat.rooms.memberships import (
    JOINS_LIMIT,
    LEAVES_LIMIT,
    MEMBER,
    READ_LIMIT,
    Change,
    Membership,
    Pair,
    Role,
    newest,
)

_FORGET_TRIES = 3
_FITS = "attribute_not_exists(#set) OR size(#set) < :limit OR contains(#set, :one)"


class DynamoMemberships:
    """:class:`Memberships` in the Memberships table; every read of a row is consistent."""

    def __init__(self, client: AwsClient, table: str) -> None:
        self._table = DynamoTable(client, table, "memberships")

    def get(self, user_id: str, room_id: str) -> Membership:
        return _membership(user_id, room_id, self._table.get(_key(user_id, room_id)) or {})

    def get_many(self, pairs: Sequence[Pair]) -> dict[Pair, Membership]:
        found = {pair: Membership(*pair) for pair in pairs}
        rows, unread = self._table.get_many([_key(*pair) for pair in found])
        for row in rows:
            pair = _pair(row)
            found[pair] = _membership(*pair, row)
        for key in unread:
            del found[_pair(key)]
        return found

    def add(self, change: Change) -> Membership:
        name, limit = ("joins", JOINS_LIMIT) if change.kind == "join" else ("leaves", LEAVES_LIMIT)
        names = {"#set": name}
        values: Item = {":event": {change.event}, ":one": change.event, ":limit": limit}
        sets = []
        if change.username is not None:
            sets.append("username = :username")
            values[":username"] = change.username
        if change.kind == "join" and change.role is not None:
            sets.append("#role = :role")
            values[":role"] = change.role
        expression = "ADD #set :event"
        if sets:
            expression += " SET " + ", ".join(sets)
        expression += " REMOVE #role" if change.kind == "leave" else " REMOVE leftForGood"
        if "#role" in expression:
            names["#role"] = "role"
        parameters = {"ExpressionAttributeNames": names, "ConditionExpression": _FITS}
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
            self._table.update(
                _key(user_id, room_id), "DELETE " + ", ".join(parts), {k: v for k, v in values.items() if v}
            )

    def set_role(self, user_id: str, room_id: str, role: Role) -> Membership:
        names = {"#role": "role"}
        return self._update(user_id, room_id, "SET #role = :role", {":role": role}, ExpressionAttributeNames=names)

    def users_of(self, room_id: str, after: str | None, limit: int) -> tuple[list[str], bool]:
        start = {} if after is None else {"ExclusiveStartKey": to_wire(_key(after, room_id))}
        rows, more = self._table.query("roomId", room_id, IndexName="RoomMembers", Limit=limit, **start)
        return [row["userId"] for row in rows], more

    def rooms_of(self, user_id: str, limit: int) -> tuple[list[Membership], bool]:
        rows = self._table.query_all("userId", user_id, ConsistentRead=True)
        read = [_membership(user_id, row["roomId"], row) for row in islice(rows, READ_LIMIT)]
        found, more = newest(read, limit)
        return found, more or len(read) == READ_LIMIT

    def is_known(self, user_id: str) -> bool:
        return bool(self._table.query("userId", user_id, Limit=1)[0])

    def leave_for_good(self, user_id: str, room_id: str) -> None:
        self._table.update_if(
            "attribute_exists(joins)", _key(user_id, room_id), "SET leftForGood = :true", {":true": True}
        )

    def mark_read(self, user_id: str, room_id: str, position: str) -> bool:
        # It names no other attribute, so that an IAM policy can allow only this update.
        condition = "attribute_exists(userId) AND (attribute_not_exists(readTo) OR readTo < :position)"
        key = _key(user_id, room_id)
        return self._table.update_if(condition, key, "SET readTo = :position", {":position": position})

    def _update(self, user_id: str, room_id: str, expression: str, values: Item, **parameters: Any) -> Membership:
        key = _key(user_id, room_id)
        row = self._table.update(key, expression, values, ReturnValues="ALL_NEW", **parameters)
        return _membership(user_id, room_id, row)


def _pair(key: Item) -> Pair:
    return key["userId"], key["roomId"]


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
    )
