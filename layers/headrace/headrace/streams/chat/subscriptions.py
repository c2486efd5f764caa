"""Subscriptions of connections to rooms."""

from __future__ import annotations

from headrace.core.caller import Caller
from headrace.core.errors import FieldError, Forbidden, echo
from headrace.core.keys import time_bound
from headrace.live.connections import Connections
from headrace.live.subscriber_hints import SubscriberHints
from headrace.storage.ports import RangeQuery, RangeReader
from headrace.streams.chat.access import Access
from headrace.streams.chat.history import History


class Subscriptions:
    """Subscribes connections to rooms that their users may read. ``table`` is the messages' table."""

    def __init__(
        self,
        connections: Connections,
        hints: SubscriberHints,
        access: Access,
        history: History,
        reader: RangeReader,
        table: str,
    ) -> None:
        self._connections = connections
        self._hints = hints
        self._access = access
        self._reader = reader
        self._table = table
        self.history = history

    def subscribe(self, caller: Caller, room_id: str, connection_id: str, connected_at: int) -> str | None:
        """Subscribe a connection that was opened at ``connected_at`` (epoch seconds).

        The answer is the key of the newest message that the caller may read and that came before the subscription.
        Access is checked again after the row is written: a membership that ends meanwhile either finds the row, or is
        seen by the second check.

        Raises:
            Forbidden: the caller is not in the room. StoreUnavailable.
        """
        since, written = self._readable_since(caller, room_id), False
        while not written:
            self._connections.subscribe(room_id, connection_id, caller, connected_at, since)
            try:
                now = self._readable_since(caller, room_id)
            except Forbidden:
                self._connections.unsubscribe(room_id, [connection_id])
                raise
            since, written = now, now == since
        self._hints.mark_subscribed(room_id)
        return self._newest(room_id, since)

    def unsubscribe(self, room_id: str, connection_id: str) -> None:
        """End the subscription of a connection, if there is one."""
        self._connections.unsubscribe(room_id, [connection_id])

    def _readable_since(self, caller: Caller, room_id: str) -> str | None:
        """The time from which on the caller may read new messages, ``None`` for all.

        Raises:
            Forbidden: the caller is not in the room.
        """
        scope = self._access.reach(caller, room_id)
        if not scope.is_open:
            allowed = "a room that you are a member of"
            detail = FieldError("roomId", "is a room that you have left", echo(room_id), allowed)
            raise Forbidden("you are not in this room any more", details=[detail])
        return scope.intervals[-1].joined_at if scope.intervals else None

    def _newest(self, room_id: str, since: str | None) -> str | None:
        # A page of history may be 2 s old: messages in between would be missing without notice.
        lower = time_bound(since) if since is not None else None
        query = RangeQuery(
            self._table, "roomId", room_id, "timestampSk", lower=lower, newest_first=True, limit=1, consistent=True
        )
        rows = self._reader.read(query).items
        return str(rows[0]["timestampSk"]) if rows else None
