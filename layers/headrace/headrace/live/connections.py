"""Live connections: one row per connection, one more per room that it subscribes to.

``$disconnect`` is best effort, so every row expires: API Gateway ends a connection after two hours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.core.caller import Caller
from headrace.core.keys import connection_room
from headrace.core.times import SECOND

CONNECTION_SECONDS = 2 * 3600
GRACE_SECONDS = 600
CHECKED_ROWS = 25
"""Rows that are checked for one that has not expired; a room with more is taken to have subscribers."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """One connection in one room; it may read messages from ``since`` on (canonical), ``None`` for all."""

    connection_id: str
    user_id: str
    since: str | None = None


class Connections(Protocol):
    """Stores who is connected. Every method may raise StoreUnavailable; a change that failed may be half done."""

    def open(self, connection_id: str, caller: Caller) -> None:
        """Store a connection until it closes, or for as long as one can live."""
        ...

    def close(self, connection_id: str) -> int:
        """Delete a connection and its subscriptions; returns the number of rows. Closing twice is harmless."""
        ...

    def subscribe(self, room_id: str, connection_id: str, caller: Caller, connected_at: int, since: str | None) -> None:
        """Put a connection (opened at ``connected_at``, epoch seconds) into a room, until it or its token ends."""
        ...

    def unsubscribe(self, room_id: str, connection_ids: Iterable[str]) -> None:
        """Remove connections from a room; those that are not in it are ignored."""
        ...

    def unsubscribe_user(self, room_id: str, user_id: str) -> int:
        """Remove all connections of a user from a room, as when a membership ends; returns their number."""
        ...

    def members_only(self, room_id: str) -> int:
        """Remove the connections that subscribed without a membership: a room reads as open until it is created.

        Returns their number.
        """
        ...

    def subscriptions(self, room_id: str) -> list[Subscription]:
        """The subscriptions of a room that have not expired, all those that were written before the call included."""
        ...

    def has_subscriptions(self, room_id: str) -> bool:
        """Whether a room may have subscriptions; when it is uncertain, true. Cheaper than :meth:`subscriptions`."""
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


def unexpired(rows: Iterable[Mapping[str, Any]], now: int) -> list[Subscription]:
    """The subscriptions among ``rows`` that have not expired at ``now`` (microseconds): TTL deletes days later."""
    return [
        Subscription(row["connectionId"], row["userId"], row.get("since"))
        for row in rows
        if min(row["expiresAt"], row["tokenExpiresAt"]) > now // SECOND
    ]
