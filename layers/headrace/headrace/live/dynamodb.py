"""Stores WebSocket connections and their subscriptions in DynamoDB."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from headrace.core.caller import Caller
from headrace.core.errors import NotFound
from headrace.core.items import Item, is_expired
from headrace.core.times import SECOND, Clock, SystemClock
from headrace.live.connections import (
    WARNING_SECONDS,
    KeptRows,
    Subscription,
    TokenExpiries,
    connection_room,
    subscription_row,
    unexpired,
)
from headrace.live.hints import Audience
from headrace.storage.dynamodb.client import DynamoTable, to_wire

INDEX = "ByConnection"
USER_INDEX = "ByUser"
CHECK_SECONDS = 5
"""How late messages may be pushed again to a connection that is renewed after its token has expired."""


class Connections(Audience):
    """Connections and subscriptions in their table. Methods raise StoreUnavailable; some rows may then be changed."""

    def __init__(self, table: DynamoTable, clock: Clock | None = None) -> None:
        super().__init__(table, clock or SystemClock())
        self._renewed = TokenExpiries(self.expiries, self._clock, CHECK_SECONDS)
        self._kept = KeptRows()

    def open(self, connection_id: str, caller: Caller) -> None:
        """Store a connection. Its row expires after the longest time that a connection can last."""
        connected_at = self._clock.now() // SECOND
        row = subscription_row(connection_room(connection_id), connection_id, caller, connected_at, None)
        self._table.put(row | {"connectedAt": connected_at})

    def close(self, connection_id: str, rooms: Iterable[str] | None = None) -> int:
        """Delete a connection and its subscriptions to ``rooms``; returns the number of rows. May be called again.

        ``None``: an index tells the rooms, which may lag by a moment.
        """
        # The index may not have the connection's own row yet, whose key is known.
        found = {connection_room(connection_id), *(self.rooms_of(connection_id) if rooms is None else rooms)}
        return self._delete((room, connection_id) for room in sorted(found))

    def rooms_of(self, connection_id: str) -> set[str]:
        """The rooms to which a connection is subscribed; may lag by a moment."""
        rows = self._table.query_all("connectionId", connection_id, IndexName=INDEX, ProjectionExpression="roomId")
        return {row["roomId"] for row in rows} - {connection_room(connection_id)}

    def subscribe(self, rooms: Mapping[str, str | None], connection_id: str, caller: Caller, connected_at: int) -> None:
        """Subscribe a connection (opened at ``connected_at``, epoch seconds) to rooms, until it or its token ends.

        Each room has the time from which its messages may be read, see :class:`Subscription`.
        """
        self._table.put_many(
            [subscription_row(each, connection_id, caller, connected_at, since) for each, since in rooms.items()]
        )

    def unsubscribe(self, room_id: str, connection_ids: Iterable[str]) -> None:
        """Unsubscribe connections from a room; those without a subscription are ignored."""
        self._delete((room_id, connection_id) for connection_id in sorted(set(connection_ids)))

    def unsubscribe_user(self, room_id: str, user_id: str) -> int:
        """Unsubscribe all connections of a user from a room; returns their number."""
        return self._remove(room_id, lambda row: row["userId"] == user_id)

    def members_only(self, room_id: str) -> int:
        """Unsubscribe the connections that subscribed before the room had members; returns their number."""
        return self._remove(room_id, lambda row: "since" not in row)

    def _remove(self, room_id: str, chosen: Callable[[Item], bool]) -> int:
        return self._delete((room_id, row["connectionId"]) for row in self._rows(room_id) if chosen(row))

    def renew(self, connection_id: str, expires_at: int) -> int:
        """Extend an open connection to a token that expires at ``expires_at`` (epoch seconds).

        Returns when the connection's token expires now: never earlier than before. Raises NotFound if it is closed.
        """
        key, values = _own_key(connection_id), {":at": expires_at}
        condition = "attribute_exists(roomId) AND tokenExpiresAt < :at"
        if self._table.update_if(condition, key, "SET tokenExpiresAt = :at", values):
            return expires_at
        row = self._table.get(key)
        if row is None:
            raise NotFound("the connection is closed")
        return int(row["tokenExpiresAt"])

    def expiries(self, connection_ids: Sequence[str]) -> dict[str, int]:
        """When the tokens of connections expire (epoch seconds), with renewals; closed connections are left out."""
        rows = self._table.get_many([_own_key(each) for each in connection_ids])
        return {row["connectionId"]: int(row["tokenExpiresAt"]) for row in rows}

    def of_user(self, user_id: str, room_id: str | None = None) -> set[str]:
        """The connections of a user that may be open, or that are subscribed to a room; may lag by a moment."""
        place = "begins_with(roomId, :room)" if room_id is None else "roomId = :room"
        rows = self._table.query_all(
            "userId",
            user_id,
            IndexName=USER_INDEX,
            KeyConditionExpression=f"userId = :v AND {place}",
            ExpressionAttributeValues=to_wire(
                {":v": user_id, ":room": connection_room("") if room_id is None else room_id}
            ),
        )
        now = self._clock.now()
        return {row["connectionId"] for row in rows if not is_expired(row, now)}

    def rooms_of_user(self, user_id: str) -> dict[str, set[str]]:
        """The connections of a user that may be open, each with its rooms; may lag by a moment."""
        now, found = self._clock.now(), dict[str, set[str]]()
        for row in self._table.query_all("userId", user_id, IndexName=USER_INDEX):
            if not is_expired(row, now):
                found.setdefault(row["connectionId"], set()).add(row["roomId"])
        return {each: rooms - {connection_room(each)} for each, rooms in found.items()}

    def forget(self, subscribers: Iterable[tuple[str, str]]) -> None:
        """Delete closed connections with these subscriptions (room and connection); others expire."""
        rows = {
            row
            for room, connection in subscribers
            for row in ((room, connection), (connection_room(connection), connection))
        }
        self._kept.drop(room_id for room_id, _ in rows)
        self._delete(sorted(rows))

    def subscriptions(self, room_id: str, mark: str = "") -> list[Subscription]:
        """The subscriptions of a room that have not expired, read consistently.

        They may be up to ``KEPT_SECONDS`` old if the last call for the room had the same ``mark``.
        """
        now = self._clock.now()
        rows = self._kept.get(room_id, mark, now, self._rows)
        # A token that has expired, or expires soon, may have been renewed.
        soon = now // SECOND + WARNING_SECONDS
        old = [row["connectionId"] for row in rows if not is_expired(row, now) and row["tokenExpiresAt"] <= soon]
        return unexpired(rows, self._renewed.get_many(old), now)

    def followers(self, room_id: str, limit: int) -> tuple[dict[str, list[str]], bool]:
        """The connections of each user in a room, and whether there may be more than these; may lag by a moment.

        One query, which reads ``limit`` rows. The connections may be open, also if their tokens have expired.
        """
        rows, has_more = self._table.query("roomId", room_id, Limit=limit)
        now, found = self._clock.now(), dict[str, list[str]]()
        for row in rows:
            if not is_expired(row, now):
                found.setdefault(row["userId"], []).append(row["connectionId"])
        return found, has_more

    def _rows(self, room_id: str) -> Iterator[Item]:
        return self._table.query_all("roomId", room_id, ConsistentRead=True)

    def _delete(self, rows: Iterable[tuple[str, str]]) -> int:
        keys = [{"roomId": room_id, "connectionId": connection_id} for room_id, connection_id in rows]
        self._table.delete_many(keys)
        return len(keys)


def _own_key(connection_id: str) -> Item:
    """The key of the row that describes a connection."""
    return {"roomId": connection_room(connection_id), "connectionId": connection_id}
