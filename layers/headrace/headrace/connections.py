"""Live connections: one row per connection, one more per room that it subscribes to.

``$disconnect`` is best effort, so every row expires by itself: API Gateway ends a connection after two hours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.core.caller import Caller
from headrace.core.errors import StoreUnavailable
from headrace.core.items import from_wire, to_wire
from headrace.core.keys import connection_room
from headrace.core.times import SECOND, Clock, SystemClock
from headrace.runtime.aws import AWS_ERRORS

CONNECTION_SECONDS = 2 * 3600
GRACE_SECONDS = 600
BATCH = 25
LOOK = 25
"""Rows looked at for a living one, before a room is taken to have listeners."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """One connection in one room; ``since`` is the first time (canonical) that it may hear of, ``None`` for all."""

    connection_id: str
    user_id: str
    since: str | None = None


class Connections(Protocol):
    """Remembers who is connected."""

    def open(self, connection_id: str, caller: Caller) -> None:
        """Remember a connection until it closes, or for as long as one can live.

        Raises:
            headrace.core.errors.StoreUnavailable: it could not be stored.
        """
        ...

    def close(self, connection_id: str) -> int:
        """Forget a connection and its subscriptions; returns how many rows went. Closing twice is harmless.

        Raises:
            headrace.core.errors.StoreUnavailable: some rows may be left; they expire by themselves.
        """
        ...

    def subscribe(self, room_id: str, connection_id: str, caller: Caller, connected_at: int, since: str | None) -> None:
        """Put a connection (opened at ``connected_at``, epoch seconds) into a room, until it or its token ends.

        Raises:
            headrace.core.errors.StoreUnavailable: it could not be stored.
        """
        ...

    def unsubscribe(self, room_id: str, connection_ids: Iterable[str]) -> None:
        """Take connections out of a room; what is not there is harmless.

        Raises:
            headrace.core.errors.StoreUnavailable: some may be left.
        """
        ...

    def unsubscribe_user(self, room_id: str, user_id: str) -> int:
        """Take all connections of a user out of a room, as when a membership ends; returns how many there were.

        Raises:
            headrace.core.errors.StoreUnavailable: some may be left: the caller has to try again.
        """
        ...

    def members_only(self, room_id: str) -> int:
        """Take out of a room whoever was let in without a membership: only members may read it from now on.

        Somebody may listen to a room that is not there yet, and reads as open. Returns how many there were.

        Raises:
            headrace.core.errors.StoreUnavailable: some may be left: the caller has to try again.
        """
        ...

    def subscriptions(self, room_id: str) -> list[Subscription]:
        """Who listens to a room now: what was subscribed before the call is in it, what has expired is not.

        Raises:
            headrace.core.errors.StoreUnavailable: it could not be read.
        """
        ...

    def has_subscriptions(self, room_id: str) -> bool:
        """Whether anybody may listen to a room; in doubt, yes. Cheaper than :meth:`subscriptions`.

        Raises:
            headrace.core.errors.StoreUnavailable: it could not be read.
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


def subscription_row(
    room_id: str, connection_id: str, caller: Caller, connected_at: int, since: str | None
) -> dict[str, Any]:
    """The row of a connection in a room."""
    row = {
        "roomId": room_id,
        "connectionId": connection_id,
        "userId": caller.subject,
        "tokenExpiresAt": caller.expires_at,
        "expiresAt": connected_at + CONNECTION_SECONDS + GRACE_SECONDS,
    }
    return row if since is None else row | {"since": since}


def _living(rows: Iterable[Mapping[str, Any]], now: int) -> list[Subscription]:
    """The subscriptions among ``rows`` that have not expired at ``now`` (microseconds): TTL deletes days later."""
    return [
        Subscription(row["connectionId"], row["userId"], row.get("since"))
        for row in rows
        if min(row["expiresAt"], row["tokenExpiresAt"]) > now // SECOND
    ]


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

    def subscribe(self, room_id: str, connection_id: str, caller: Caller, connected_at: int, since: str | None) -> None:
        """Put a connection into a room."""
        row = subscription_row(room_id, connection_id, caller, connected_at, since)
        self.rows[room_id, connection_id] = row

    def unsubscribe(self, room_id: str, connection_ids: Iterable[str]) -> None:
        """Take connections out of a room."""
        for connection_id in connection_ids:
            self.rows.pop((room_id, connection_id), None)

    def unsubscribe_user(self, room_id: str, user_id: str) -> int:
        """Take all connections of a user out of a room."""
        found = [row["connectionId"] for row in self._room(room_id) if row["userId"] == user_id]
        self.unsubscribe(room_id, found)
        return len(found)

    def members_only(self, room_id: str) -> int:
        """Take out of a room whoever was let in without a membership."""
        found = [row["connectionId"] for row in self._room(room_id) if "since" not in row]
        self.unsubscribe(room_id, found)
        return len(found)

    def subscriptions(self, room_id: str) -> list[Subscription]:
        """Who listens to a room now."""
        return _living(self._room(room_id), self._clock.now())

    def has_subscriptions(self, room_id: str) -> bool:
        """Whether anybody may listen to a room."""
        return bool(self.subscriptions(room_id))

    def _room(self, room_id: str) -> list[dict[str, Any]]:
        return [row for (room, _), row in sorted(self.rows.items()) if room == room_id]
