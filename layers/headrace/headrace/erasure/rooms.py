"""Erases a user from rooms, memberships, invitations, blocks and connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core.collections import parts
from headrace.core.items import Item
from headrace.erasure.tasks import Progress, Target
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import WRITE_LIMIT, DynamoTable, to_wire
from headrace.streams.chat.rooms.memberships import INVITED, INVITERS

_INVITED_OTHERS = "roomId = :one AND begins_with(userId, :inviters) AND attribute_not_exists(blockedAt)"
_NAMES_USER = f"addedBy = :user OR invitedBy = :user OR ({_INVITED_OTHERS})"
Notices = Callable[[Target, str, Sequence[str]], int]
"""Takes the user out of the notices of joins and leaves in a room; returns how many."""


class RoomsEraser:
    """Steps for the tables of rooms, memberships and connections."""

    def __init__(self, client: AwsClient, rooms: str, memberships: str, connections: str, notices: Notices) -> None:
        self._rooms = DynamoTable(client, rooms, "rooms")
        self._memberships = DynamoTable(client, memberships, "memberships")
        self._connections = DynamoTable(client, connections, "connections")
        self._notices = notices

    def connections(self, target: Target) -> Progress:
        """Delete the rows of the user's connections and subscriptions. Open connections get no more messages."""
        found = self._connections.query_all("userId", target.user_id, IndexName="ByUser")
        for rows in parts(found, WRITE_LIMIT):
            self._connections.delete_many([{name: row[name] for name in ("roomId", "connectionId")} for row in rows])
            yield "connections", len(rows)

    def memberships(self, target: Target) -> Progress:
        """Delete the user's memberships, invitations and blocks.

        The events of a membership lead to its notices. One may still be on its way to the table, so the memberships go
        in the last round.
        """
        for row in self._memberships.query_all("userId", target.user_id, ConsistentRead=True):
            events = [*row.get("joins", ()), *row.get("leaves", ())]
            yield "messages", self._notices(target, row["roomId"], events)
            if target.is_last:
                self._memberships.delete_many([_key(row)])
                yield "memberships", 1
        for partition in (INVITED + target.user_id, INVITERS + target.user_id):
            for rows in parts(self._memberships.query_all("userId", partition, ConsistentRead=True), WRITE_LIMIT):
                self._memberships.delete_many(list(map(_key, rows)))
                yield "memberships", len(rows)

    def named_by_others(self, target: Target) -> Progress:
        """Take the user out of the memberships and invitations of others. No index leads there: the table is read.

        Who blocks the user goes on to do so: it protects them if the user comes back.
        """
        pages = self._memberships.scan_pages(
            FilterExpression=_NAMES_USER,
            ExpressionAttributeValues=to_wire(
                {":user": target.user_id, ":one": f"#{target.user_id}", ":inviters": INVITERS}
            ),
        )
        for rows in pages:
            yield "memberships", sum(self._unname(target, row) for row in rows)

    def _unname(self, target: Target, row: Item) -> bool:
        values: Item = {":user": target.user_id}
        if "addedBy" in row:
            renamed = {**values, ":name": target.pseudonym}
            return self._memberships.update_if("addedBy = :user", _key(row), "SET addedBy = :name", renamed)
        if "invitedBy" in row:
            return self._memberships.delete_if("invitedBy = :user", _key(row), values)
        return self._memberships.delete_if("attribute_not_exists(blockedAt)", _key(row))

    def rooms(self, target: Target) -> Progress:
        """Put a pseudonym in place of the user who made a room, or has a seat in a direct one. The table is read."""
        pages = self._rooms.scan_pages(
            FilterExpression="createdBy = :user OR contains(seats, :user)",
            ExpressionAttributeValues=to_wire({":user": target.user_id}),
        )
        for rows in pages:
            yield "rooms", sum(self._leave_room(target, row) for row in rows)

    def _leave_room(self, target: Target, row: Item) -> bool:
        key, values = {"roomId": row["roomId"]}, {":user": target.user_id, ":name": target.pseudonym}
        changed = self._rooms.update_if("createdBy = :user", key, "SET createdBy = :name", values)
        if target.user_id in row.get("seats", ()):
            # The seat stays taken: who took it could read what the other one has written.
            seats = {*row["seats"], target.pseudonym} - {target.user_id}
            condition, taken = "seats = :before", {":before": row["seats"], ":seats": seats}
            changed |= self._rooms.update_if(condition, key, "SET seats = :seats", taken)
        return changed


def _key(row: Item) -> Item:
    return {"userId": row["userId"], "roomId": row["roomId"]}
