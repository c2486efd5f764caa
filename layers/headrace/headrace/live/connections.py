"""Live connections: one row per connection, one more per room that it subscribes to.

``$disconnect`` is best effort, so every row expires by itself: API Gateway ends a connection after two hours.
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
