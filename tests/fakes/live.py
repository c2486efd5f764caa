"""Connections, subscribers and pushes in memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.core.caller import Caller
from headrace.core.times import Clock, SystemClock
from headrace.live.connections import (
    SubscriberHints,
    Subscription,
    closed,
    connection_room,
    connection_row,
    is_open,
    needs_renewal,
    subscription_row,
    unexpired,
)
from headrace.live.push_service import Push, PushResult
from headrace.storage.ports import Cache
from headrace.streams.chat.messages.hooks import LiveHook
from tests.fakes.queues import MemoryLivePublisher


def live_hook(cache: Cache, clock: Clock) -> LiveHook:
    """A hook of rooms without subscribers."""
    return LiveHook(cache, SubscriberHints(cache, MemoryConnections(clock)), MemoryLivePublisher, clock)


class MemoryConnections:
    """:class:`~headrace.live.connections.Connections`: ``rows`` by (roomId, connectionId)."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.rows: dict[tuple[str, str], dict[str, Any]] = {}
        self.expiries_read = 0
        self._clock = clock or SystemClock()

    def open(self, connection_id: str, caller: Caller) -> None:
        row = connection_row(connection_id, caller, self._clock.now())
        self.rows[row["roomId"], connection_id] = row

    def close(self, connection_id: str) -> int:
        keys = {key for key in self.rows if key[1] == connection_id} | {(connection_room(connection_id), connection_id)}
        for key in keys:
            self.rows.pop(key, None)
        return len(keys)

    def subscribe(self, room_id: str, connection_id: str, caller: Caller, connected_at: int, since: str | None) -> None:
        row = subscription_row(room_id, connection_id, caller, connected_at, since)
        self.rows[room_id, connection_id] = row

    def unsubscribe(self, room_id: str, connection_ids: Iterable[str]) -> None:
        for connection_id in connection_ids:
            self.rows.pop((room_id, connection_id), None)

    def unsubscribe_user(self, room_id: str, user_id: str) -> int:
        found = [row["connectionId"] for row in self._room(room_id) if row["userId"] == user_id]
        self.unsubscribe(room_id, found)
        return len(found)

    def members_only(self, room_id: str) -> int:
        found = [row["connectionId"] for row in self._room(room_id) if "since" not in row]
        self.unsubscribe(room_id, found)
        return len(found)

    def renew(self, connection_id: str, expires_at: int) -> int:
        row = self.rows.get((connection_room(connection_id), connection_id))
        if row is None:
            raise closed()
        row["tokenExpiresAt"] = max(row["tokenExpiresAt"], expires_at)
        return int(row["tokenExpiresAt"])

    def expiries(self, connection_ids: Sequence[str]) -> dict[str, int]:
        self.expiries_read += 1
        rows = {each: self.rows.get((connection_room(each), each)) for each in connection_ids}
        return {each: row["tokenExpiresAt"] for each, row in rows.items() if row is not None}

    def of_user(self, user_id: str, room_id: str | None = None) -> set[str]:
        return {
            connection
            for (room, connection), row in self.rows.items()
            if row["userId"] == user_id
            and (room == room_id or (room_id is None and room == connection_room(connection)))
            and is_open(row, self._clock.now())
        }

    def count_rooms(self, connection_id: str) -> int:
        return len({room for room, each in self.rows if each == connection_id} - {connection_room(connection_id)})

    def forget(self, subscribers: Iterable[tuple[str, str]]) -> None:
        for room, connection in subscribers:
            self.rows.pop((room, connection), None)
            self.rows.pop((connection_room(connection), connection), None)

    def subscriptions(self, room_id: str) -> list[Subscription]:
        now, rows = self._clock.now(), self._room(room_id)
        return unexpired(rows, self.expiries([row["connectionId"] for row in rows if needs_renewal(row, now)]), now)

    def has_subscriptions(self, room_id: str) -> bool:
        return any(is_open(row, self._clock.now()) for row in self._room(room_id))

    def _room(self, room_id: str) -> list[dict[str, Any]]:
        return [row for (room, _), row in sorted(self.rows.items()) if room == room_id]


class MemoryPusher:
    """Records the frames ``sent`` by connection. A connection in ``results`` fails with that result."""

    def __init__(self) -> None:
        self.sent: dict[str, list[bytes]] = defaultdict(list)
        self.results: dict[str, PushResult] = {}
        self.asked: list[str] = []

    def deliver(self, sends: Sequence[Push], seconds: float) -> list[PushResult]:
        results: list[PushResult] = []
        for send in sends:
            self.asked.append(send.connection_id)
            verdict = self.results.get(send.connection_id, "sent")
            if verdict == "sent":
                self.sent[send.connection_id].extend(send.frames)
            results.append(verdict)
        return results
