"""Connections, subscribers and pushes in memory."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace.core.caller import Caller
from headrace.core.keys import channel_user, newest_page, room_key
from headrace.core.times import Clock, SystemClock
from headrace.live.connections import (
    NONE,
    KeptRows,
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
from headrace.live.dynamodb import by_user
from headrace.live.push_service import Push, PushResult
from headrace.streams.chat.messages.hooks import LiveHook
from headrace.streams.chat.messages.positions import new_tag
from headrace.streams.chat.messages.redis import LOG_MILLISECONDS, TAG_MILLISECONDS
from headrace.streams.chat.messages.room_log import Appended, Batch, LoggedFrame, Since
from tests.fakes.queues import MemoryLivePublisher
from tests.fakes.storage import MemoryCache


def live_hook(cache: MemoryCache, clock: Clock) -> LiveHook:
    """A hook of rooms without subscribers."""
    log, hints = MemoryRoomLog(cache), SubscriberHints(cache, MemoryConnections(clock))
    return LiveHook(log, hints, MemoryLivePublisher, clock, lambda *_: None)


class MemoryRoomLog:
    """:class:`~headrace.streams.chat.messages.room_log.RoomLog` in a cache in memory."""

    def __init__(self, cache: MemoryCache) -> None:
        self._cache = cache

    @property
    def is_unavailable(self) -> bool:
        return self._cache.down

    def append(self, batches: Mapping[str, Batch]) -> dict[str, Appended]:
        with self._cache.one_call():
            return {room_id: self._append(room_id, batch) for room_id, batch in batches.items()}

    def _append(self, room_id: str, batch: Batch) -> Appended:
        tag_key, log_key, marker = (room_key(kind, room_id) for kind in ("tag", "log", "live"))
        follows, log, mark = self._cache.get_many([tag_key, log_key, marker])
        self._cache.forget(newest_page(room_id))
        self._cache.set_many({tag_key: (batch.tag.encode(), TAG_MILLISECONDS / 1000)})
        if (mark == NONE and channel_user(room_id) is None) or not batch.frames:
            self._cache.forget(log_key)
        else:
            kept: list[LoggedFrame] = pickle.loads(log) if log and follows else []
            kept = kept or [LoggedFrame((follows or b"").decode(), 0, "[]")]
            kept += batch.frames
            self._cache.set_many({log_key: (pickle.dumps(kept), LOG_MILLISECONDS / 1000)})
        return Appended((follows or b"").decode(), mark)

    def since(self, tags: Mapping[str, str]) -> dict[str, Since]:
        with self._cache.one_call():
            return {room_id: self._since(room_id, tag) for room_id, tag in tags.items()}

    def _since(self, room_id: str, tag: str) -> Since:
        tag_key, log_key = (room_key(kind, room_id) for kind in ("tag", "log"))
        newest, log = self._cache.get_many([tag_key, log_key])
        if newest is None:
            made = new_tag()
            self._cache.forget(log_key)
            self._cache.set_many({tag_key: (made.encode(), TAG_MILLISECONDS / 1000)})
            return Since(made)
        if newest.decode() == tag:
            return Since(tag, [])
        kept: list[LoggedFrame] = pickle.loads(log) if log else []
        found = [at for at, frame in enumerate(kept) if tag and frame.tag == tag]
        return Since(newest.decode(), kept[found[0] + 1 :] if found else None)


class MemoryConnections:
    """:class:`~headrace.live.connections.Connections`: ``rows`` by (roomId, connectionId)."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.rows: dict[tuple[str, str], dict[str, Any]] = {}
        self.expiries_read = 0
        self.kept = KeptRows()
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

    def rooms_of_user(self, user_id: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for (room, connection), row in self.rows.items():
            if row["userId"] == user_id and is_open(row, self._clock.now()):
                found[connection] |= {room} - {connection_room(connection)}
        return dict(found)

    def rooms_of(self, connection_id: str) -> set[str]:
        return {room for room, each in self.rows if each == connection_id} - {connection_room(connection_id)}

    def forget(self, subscribers: Iterable[tuple[str, str]]) -> None:
        for room, connection in subscribers:
            self.rows.pop((room, connection), None)
            self.rows.pop((connection_room(connection), connection), None)
            self.kept.drop([room])

    def subscriptions(self, room_id: str, mark: str = "") -> list[Subscription]:
        now = self._clock.now()
        rows = self.kept.get(room_id, mark, now, self._room)
        return unexpired(rows, self.expiries([row["connectionId"] for row in rows if needs_renewal(row, now)]), now)

    def followers(self, room_id: str, limit: int) -> tuple[dict[str, list[str]], bool]:
        rows = self._room(room_id)
        return by_user(rows[:limit], self._clock.now()), len(rows) > limit

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
