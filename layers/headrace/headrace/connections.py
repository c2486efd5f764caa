"""Live connections: one row per connection, one more per room that it subscribes to.

``$disconnect`` is best effort, so every row expires by itself: API Gateway ends a connection after two hours.
"""

from __future__ import annotations

from typing import Any, Protocol

from headrace.auth import Caller
from headrace.aws import AWS_ERRORS
from headrace.errors import StoreUnavailable
from headrace.items import to_wire
from headrace.keys import connection_room
from headrace.times import SECOND, Clock, SystemClock

CONNECTION_SECONDS = 2 * 3600
GRACE_SECONDS = 600
BATCH = 25


class Connections(Protocol):
    """Remembers who is connected."""

    def open(self, connection_id: str, caller: Caller) -> None:
        """Remember a connection until it closes, or for as long as one can live.

        Raises:
            headrace.errors.StoreUnavailable: it could not be stored.
        """
        ...

    def close(self, connection_id: str) -> int:
        """Forget a connection and its subscriptions; returns how many rows went. Closing twice is harmless.

        Raises:
            headrace.errors.StoreUnavailable: some rows may be left; they expire by themselves.
        """
        ...


def connection_row(connection_id: str, caller: Caller, now: int) -> dict[str, Any]:
    """The row of a connection; ``now`` in microseconds."""
    return {
        "roomId": connection_room(connection_id),
        "connectionId": connection_id,
        "userId": caller.subject,
        "connectedAt": now // SECOND,
        "tokenExpiresAt": caller.expires_at,
        "expiresAt": now // SECOND + CONNECTION_SECONDS + GRACE_SECONDS,
    }


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
        rooms = {connection_room(connection_id), *self._rooms(connection_id)}
        keys = [{"roomId": {"S": room}, "connectionId": {"S": connection_id}} for room in sorted(rooms)]
        for at in range(0, len(keys), BATCH):
            requests = [{"DeleteRequest": {"Key": key}} for key in keys[at : at + BATCH]]
            left = self._call("batch_write_item", RequestItems={self._table: requests})["UnprocessedItems"]
            if left:
                raise StoreUnavailable("some of the connection's rows could not be removed now")
        return len(keys)

    def _rooms(self, connection_id: str) -> list[str]:
        arguments: dict[str, Any] = {
            "TableName": self._table,
            "IndexName": "ByConnection",
            "KeyConditionExpression": "connectionId = :c",
            "ExpressionAttributeValues": {":c": {"S": connection_id}},
            "ProjectionExpression": "roomId",
        }
        rooms: list[str] = []
        while True:
            answer = self._call("query", **arguments)
            rooms += [item["roomId"]["S"] for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return rooms
            arguments["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = getattr(self._client, operation)(**arguments)
        except AWS_ERRORS as error:
            raise StoreUnavailable("the connection cannot be recorded right now") from error
        return answer


class MemoryConnections:
    """Connections in memory, for tests: ``rows`` by (roomId, connectionId)."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.rows: dict[tuple[str, str], dict[str, Any]] = {}
        self._clock = clock or SystemClock()

    def open(self, connection_id: str, caller: Caller) -> None:
        """Remember a connection."""
        row = connection_row(connection_id, caller, self._clock.now())
        self.rows[row["roomId"], connection_id] = row

    def close(self, connection_id: str) -> int:
        """Forget a connection and its subscriptions."""
        keys = {key for key in self.rows if key[1] == connection_id} | {(connection_room(connection_id), connection_id)}
        for key in keys:
            self.rows.pop(key, None)
        return len(keys)
