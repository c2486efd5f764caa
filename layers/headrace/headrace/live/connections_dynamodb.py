"""Stores WebSocket connections and their subscriptions in DynamoDB."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from headrace.core.caller import Caller
from headrace.core.items import Item
from headrace.core.keys import connection_room
from headrace.core.times import Clock, SystemClock
from headrace.live.connections import CHECKED_ROWS, Subscription, connection_row, subscription_row, unexpired
from headrace.storage.dynamodb.client import DynamoTable

INDEX = "ByConnection"


class DynamoConnections:
    """Connections in the Connections table."""

    def __init__(self, client: Any, table: str, clock: Clock | None = None) -> None:
        self._table = DynamoTable(client, table, "connections")
        self._clock = clock or SystemClock()

    def open(self, connection_id: str, caller: Caller) -> None:
        self._table.put(connection_row(connection_id, caller, self._clock.now()))

    def close(self, connection_id: str) -> int:
        # The index may not have the connection's own row yet, whose key is known.
        rows = self._table.query_all("connectionId", connection_id, IndexName=INDEX, ProjectionExpression="roomId")
        rooms = {row["roomId"] for row in rows}
        return self._delete((room, connection_id) for room in sorted({connection_room(connection_id), *rooms}))

    def subscribe(self, room_id: str, connection_id: str, caller: Caller, connected_at: int, since: str | None) -> None:
        self._table.put(subscription_row(room_id, connection_id, caller, connected_at, since))

    def unsubscribe(self, room_id: str, connection_ids: Iterable[str]) -> None:
        self._delete((room_id, connection_id) for connection_id in sorted(set(connection_ids)))

    def unsubscribe_user(self, room_id: str, user_id: str) -> int:
        return self._remove(room_id, lambda row: row["userId"] == user_id)

    def members_only(self, room_id: str) -> int:
        return self._remove(room_id, lambda row: "since" not in row)

    def _remove(self, room_id: str, chosen: Callable[[Item], bool]) -> int:
        return self._delete((room_id, row["connectionId"]) for row in self._rows(room_id) if chosen(row))

    def subscriptions(self, room_id: str) -> list[Subscription]:
        return unexpired(self._rows(room_id), self._clock.now())

    def has_subscriptions(self, room_id: str) -> bool:
        rows, _ = self._table.query("roomId", room_id, ConsistentRead=True, Limit=CHECKED_ROWS)
        return len(rows) == CHECKED_ROWS or bool(unexpired(rows, self._clock.now()))

    def _rows(self, room_id: str) -> Iterator[Item]:
        return self._table.query_all("roomId", room_id, ConsistentRead=True)

    def _delete(self, rows: Iterable[tuple[str, str]]) -> int:
        keys = [{"roomId": room_id, "connectionId": connection_id} for room_id, connection_id in rows]
        self._table.delete_many(keys)
        return len(keys)
