"""WebSocket connections and their subscriptions in DynamoDB."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from headrace.core.caller import Caller
from headrace.core.errors import StoreUnavailable
from headrace.core.items import from_wire, to_wire
from headrace.core.keys import connection_room
from headrace.core.times import Clock, SystemClock
from headrace.live.connections import LOOK, Subscription, _living, connection_row, subscription_row
from headrace.runtime.aws import AWS_ERRORS

BATCH = 25


class DynamoConnections:
    """Connections in the Connections table."""

    def __init__(self, client: Any, table: str, clock: Clock | None = None) -> None:
        self._client = client
        self._table = table
        self._clock = clock or SystemClock()

    def open(self, connection_id: str, caller: Caller) -> None:
        """Remember a connection."""
        row = connection_row(connection_id, caller, self._clock.now())
        self._call("put_item", TableName=self._table, Item=to_wire(row))

    def close(self, connection_id: str) -> int:
        """Forget a connection and its subscriptions."""
        # The index may not show the connection's own row yet; its key is known without it.
        index = {"IndexName": "ByConnection", "ProjectionExpression": "roomId"}
        rooms = {row["roomId"] for page in self._query("connectionId", connection_id, **index) for row in page}
        return self._delete((room, connection_id) for room in sorted({connection_room(connection_id), *rooms}))

    def subscribe(self, room_id: str, connection_id: str, caller: Caller, connected_at: int, since: str | None) -> None:
        """Put a connection into a room."""
        row = subscription_row(room_id, connection_id, caller, connected_at, since)
        self._call("put_item", TableName=self._table, Item=to_wire(row))

    def unsubscribe(self, room_id: str, connection_ids: Iterable[str]) -> None:
        """Take connections out of a room."""
        self._delete((room_id, connection_id) for connection_id in sorted(set(connection_ids)))

    def unsubscribe_user(self, room_id: str, user_id: str) -> int:
        """Take all connections of a user out of a room."""
        return self._take_out(room_id, lambda row: row["userId"] == user_id)

    def members_only(self, room_id: str) -> int:
        """Take out of a room whoever was let in without a membership."""
        return self._take_out(room_id, lambda row: "since" not in row)

    def _take_out(self, room_id: str, chosen: Callable[[Mapping[str, Any]], bool]) -> int:
        rows = (row for page in self._query("roomId", room_id, ConsistentRead=True) for row in page)
        return self._delete((room_id, row["connectionId"]) for row in rows if chosen(row))

    def subscriptions(self, room_id: str) -> list[Subscription]:
        """Who listens to a room now."""
        pages = self._query("roomId", room_id, ConsistentRead=True)
        return _living((row for page in pages for row in page), self._clock.now())

    def has_subscriptions(self, room_id: str) -> bool:
        """Whether anybody may listen to a room."""
        page = next(self._query("roomId", room_id, ConsistentRead=True, Limit=LOOK))
        return len(page) == LOOK or bool(_living(page, self._clock.now()))

    def _query(self, name: str, value: str, **more: Any) -> Iterator[list[dict[str, Any]]]:
        """Pages of the rows whose attribute ``name`` (a key) is ``value``."""
        arguments: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": f"{name} = :v",
            "ExpressionAttributeValues": {":v": {"S": value}},
            **more,
        }
        while True:
            answer = self._call("query", **arguments)
            yield [from_wire(item) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return
            arguments["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _delete(self, rows: Iterable[tuple[str, str]]) -> int:
        keys = [{"roomId": {"S": room_id}, "connectionId": {"S": connection_id}} for room_id, connection_id in rows]
        for at in range(0, len(keys), BATCH):
            requests = [{"DeleteRequest": {"Key": key}} for key in keys[at : at + BATCH]]
            left = self._call("batch_write_item", RequestItems={self._table: requests})["UnprocessedItems"]
            if left:
                raise StoreUnavailable("some rows of connections could not be removed now")
        return len(keys)

    def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = getattr(self._client, operation)(**arguments)
        except AWS_ERRORS as error:
            raise StoreUnavailable("connections cannot be recorded or read right now") from error
        return answer
