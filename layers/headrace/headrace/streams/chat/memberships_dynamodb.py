"""Memberships in the Memberships table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.core.items import from_wire
from headrace.storage.dynamodb.client import ConditionFailed, batch_get, call
from headrace.streams.chat.memberships import JOINS_LIMIT, LEAVES_LIMIT, MEMBER, Change, Membership, Pair, Role, full

INDEX = "RoomMembers"


class DynamoMemberships:
    """:class:`~headrace.streams.chat.memberships.Memberships` in DynamoDB; every read of a row is consistent."""

    def __init__(self, client: Any, table: str) -> None:
        self._client = client
        self._table = table

    def get(self, user_id: str, room_id: str) -> Membership:
        """What is known of one user in one room."""
        answer = call(self._client, "get_item", TableName=self._table, Key=_key(user_id, room_id), ConsistentRead=True)
        return _membership(user_id, room_id, answer.get("Item", {}))

    def get_many(self, pairs: Sequence[Pair]) -> dict[Pair, Membership]:
        """What is known of several."""
        found: dict[Pair, Membership] = {}
        for asked, rows, left in batch_get(self._client, self._table, [_key(*pair) for pair in dict.fromkeys(pairs)]):
            away = {(key["userId"]["S"], key["roomId"]["S"]) for key in left}
            known = {(row["userId"]["S"], row["roomId"]["S"]): row for row in rows}
            for pair in ((key["userId"]["S"], key["roomId"]["S"]) for key in asked):
                if pair not in away:
                    found[pair] = _membership(*pair, known.get(pair, {}))
        return found

    def add(self, change: Change) -> Membership:
        """Add a join or leave."""
        name, limit = ("joins", JOINS_LIMIT) if change.kind == "join" else ("leaves", LEAVES_LIMIT)
        names = {"#set": name}
        values: dict[str, Any] = {
            ":event": {"SS": [change.event]},
            ":one": {"S": change.event},
            ":limit": {"N": str(limit)},
        }
        sets = []
        if change.username is not None:
            sets.append("username = :username")
            values[":username"] = {"S": change.username}
        if change.kind == "join" and change.role is not None:
            sets.append("#role = :role")
            values[":role"] = {"S": change.role}
        expression = "ADD #set :event"
        if sets:
            expression += " SET " + ", ".join(sets)
        if change.kind == "leave":
            expression += " REMOVE #role"
        if "#role" in expression:
            names["#role"] = "role"
        try:
            return self._update(
                change.user_id,
                change.room_id,
                UpdateExpression=expression,
                ConditionExpression="attribute_not_exists(#set) OR size(#set) < :limit OR contains(#set, :one)",
                ExpressionAttributeNames=names,
                ExpressionAttributeValues=values,
            )
        except ConditionFailed:
            raise full(change) from None

    def set_role(self, user_id: str, room_id: str, role: Role) -> Membership:
        """Give a role."""
        return self._update(
            user_id,
            room_id,
            UpdateExpression="SET #role = :role",
            ExpressionAttributeNames={"#role": "role"},
            ExpressionAttributeValues={":role": {"S": role}},
        )

    def users_of(self, room_id: str, after: str | None, limit: int) -> tuple[list[str], bool]:
        """Users of a room, in order."""
        arguments: dict[str, Any] = {
            "TableName": self._table,
            "IndexName": INDEX,
            "KeyConditionExpression": "roomId = :room",
            "ExpressionAttributeValues": {":room": {"S": room_id}},
            "Limit": limit,
        }
        if after is not None:
            arguments["ExclusiveStartKey"] = _key(after, room_id)
        answer = call(self._client, "query", **arguments)
        return [row["userId"]["S"] for row in answer["Items"]], "LastEvaluatedKey" in answer

    def rooms_of(self, user_id: str, limit: int) -> tuple[list[Membership], bool]:
        """Memberships of a user, in order."""
        arguments: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "userId = :user",
            "ExpressionAttributeValues": {":user": {"S": user_id}},
            "ConsistentRead": True,
        }
        found: list[Membership] = []
        while len(found) <= limit:
            answer = call(self._client, "query", **arguments, Limit=limit + 1 - len(found))
            found += [_membership(user_id, row["roomId"]["S"], row) for row in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                break
            arguments["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        return found[:limit], len(found) > limit

    def mark_read(self, user_id: str, room_id: str, position: str) -> bool:
        """Move the read mark. No other attribute is named, so that a policy can allow just this."""
        try:
            call(
                self._client,
                "update_item",
                TableName=self._table,
                Key=_key(user_id, room_id),
                UpdateExpression="SET readTo = :position",
                ConditionExpression="attribute_exists(userId) AND (attribute_not_exists(readTo) OR readTo < :position)",
                ExpressionAttributeValues={":position": {"S": position}},
            )
        except ConditionFailed:
            return False
        return True

    def _update(self, user_id: str, room_id: str, **expressions: Any) -> Membership:
        answer = call(
            self._client,
            "update_item",
            TableName=self._table,
            Key=_key(user_id, room_id),
            ReturnValues="ALL_NEW",
            **expressions,
        )
        return _membership(user_id, room_id, answer["Attributes"])


def _key(user_id: str, room_id: str) -> dict[str, Any]:
    return {"userId": {"S": user_id}, "roomId": {"S": room_id}}


def _membership(user_id: str, room_id: str, row: Mapping[str, Any]) -> Membership:
    plain = from_wire(row)
    return Membership(
        user_id,
        room_id,
        frozenset(plain.get("joins", ())),
        frozenset(plain.get("leaves", ())),
        plain.get("role", MEMBER),
        plain.get("username"),
        plain.get("readTo"),
    )
