"""Erases a user from rooms, memberships, invitations, blocks and connections, and a room from these."""

from __future__ import annotations

from collections.abc import Callable

from headrace.core.collections import parts
from headrace.core.items import Item
from headrace.core.keys import TIME_LENGTH
from headrace.core.people import Progress, Target
from headrace.features.people.finders import (
    connections_of,
    invitations_of,
    inviters_of,
    memberships_of,
    named_by_others,
    rooms_naming,
)
from headrace.runtime.aws import AwsClient
from headrace.storage.dynamodb.client import WRITE_LIMIT, DynamoTable, rows_of
from headrace.streams.chat.rooms.memberships import INVITERS
from headrace.streams.chat.rooms.rooms import free_from

Notices = Callable[[Target, Item], int]
"""Takes the user out of the notices of a membership; returns how many."""
_SEARCHED = "noticesErasedAt"
"""Attribute of a membership whose notices are erased."""


class RoomsEraser:
    """Steps for the tables of rooms, memberships and connections."""

    def __init__(self, client: AwsClient, rooms: str, memberships: str, connections: str, notices: Notices) -> None:
        self._rooms = DynamoTable(client, rooms, "rooms")
        self._memberships = DynamoTable(client, memberships, "memberships")
        self._connections = DynamoTable(client, connections, "connections")
        self._notices = notices

    def connections(self, target: Target) -> Progress:
        """Delete the rows of the user's connections and subscriptions. Open connections get no more messages."""
        found = rows_of(connections_of(self._connections, target.user_id))
        for rows in parts(found, WRITE_LIMIT):
            self._connections.delete_many([{name: row[name] for name in ("roomId", "connectionId")} for row in rows])
            yield "connections", len(rows)

    def memberships(self, target: Target) -> Progress:
        """Delete the user's memberships, invitations and blocks.

        The events of a membership lead to its notices. One may still be on its way to the table, so the memberships go
        in the last round. Before that they are marked, so that a slice that begins this step again goes on behind them.
        """
        for row in rows_of(memberships_of(self._memberships, target.user_id)):
            if not target.is_last and row.get(_SEARCHED) == target.erased_at:
                continue
            count = self._notices(target, row)
            if target.is_last:
                self._memberships.delete_many([_key(row)])
                yield "memberships", 1
            else:
                mark = {":at": target.erased_at}
                self._memberships.update_if("attribute_exists(roomId)", _key(row), f"SET {_SEARCHED} = :at", mark)
            yield "messages", count
        for find in (invitations_of, inviters_of):
            for rows in parts(rows_of(find(self._memberships, target.user_id)), WRITE_LIMIT):
                self._memberships.delete_many(list(map(_key, rows)))
                yield "memberships", len(rows)

    def named_by_others(self, target: Target) -> Progress:
        """Take the user out of the memberships and invitations of others.

        Who blocks the user goes on to do so: it protects them if the user comes back.
        """
        for rows, _ in named_by_others(self._memberships, target.user_id):
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
        """Put a pseudonym in place of the user who made a room, or has a seat in a direct one."""
        for rows, _ in rooms_naming(self._rooms, target.user_id):
            yield "rooms", sum(self._leave_room(target, row) for row in rows)

    def members(self, target: Target) -> Progress:
        """Delete the memberships of a room, with their read marks, and its invitations. An index finds them."""
        until = free_from(target.room_id, target.erased_at)
        for room_id in (target.room_id, f"#{target.room_id}"):
            found = rows_of(self._memberships.query_pages("roomId", room_id, IndexName="RoomMembers"))
            # Beside invitations are the rows of an inviter whose user id is the id of the room.
            keys = (_key(row) for row in found if not row["userId"].startswith(INVITERS))
            for some in parts(keys, WRITE_LIMIT):
                old = [_key(row) for row in self._memberships.get_many(some) if _newest(row) <= until]
                self._memberships.delete_many(old)
                yield "memberships", len(old)

    def followers(self, target: Target) -> Progress:
        """End the subscriptions of a room, in the last round: until then, they get the frame of its end."""
        if target.is_last:
            until = free_from(target.room_id, target.erased_at)
            found = self._connections.query_all("roomId", target.room_id, ConsistentRead=True)
            old = [row["connectionId"] for row in found if row.get("since", "") <= until]
            self._connections.delete_many([{"roomId": target.room_id, "connectionId": each} for each in old])
            yield "connections", len(old)

    def _leave_room(self, target: Target, row: Item) -> bool:
        key, values = {"roomId": row["roomId"]}, {":user": target.user_id, ":name": target.pseudonym}
        changed = self._rooms.update_if("createdBy = :user", key, "SET createdBy = :name", values)
        if target.user_id in row.get("seats", ()):
            # The seat stays taken: who took it could read what the other one has written.
            seats = {*row["seats"], target.pseudonym} - {target.user_id}
            condition, taken = "seats = :before", {":before": row["seats"], ":seats": seats}
            changed |= self._rooms.update_if(condition, key, "SET seats = :seats", taken)
        return changed


def _newest(row: Item) -> str:
    """The time of the last join or leave of a membership, or of an invitation."""
    return max((*row.get("joins", ()), *row.get("leaves", ())), default=str(row.get("invitedAt", "")))[:TIME_LENGTH]


def _key(row: Item) -> Item:
    return {"userId": row["userId"], "roomId": row["roomId"]}
