"""Connections, subscribers and pushes in memory."""

from __future__ import annotations

import math
import pickle
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headrace.core.items import Item
from headrace.core.keys import channel_user, newest_page, room_key
from headrace.core.times import Clock
from headrace.live.dynamodb import Connections
from headrace.live.hints import NONE, SubscriberHints
from headrace.live.push.api_gateway import Push, PushResult
from headrace.storage.dynamodb.client import WRITE_LIMIT, DynamoTable, from_wire
from headrace.streams.chat.messages.hooks import LiveHook
from headrace.streams.chat.messages.positions import new_tag
from headrace.streams.chat.messages.redis import LOG_MILLISECONDS, TAG_MILLISECONDS, RoomLog
from headrace.streams.chat.messages.room_log import Appended, Batch, LoggedFrame, Since
from tests.fakes.queues import MemoryLivePublisher
from tests.fakes.storage import MemoryCache


def live_hook(cache: MemoryCache, clock: Clock) -> LiveHook:
    """A hook of rooms without subscribers."""
    log, hints = MemoryRoomLog(cache), SubscriberHints(cache, MemoryConnections(clock))
    return LiveHook(log, hints, MemoryLivePublisher, clock, lambda *_: None)


class MemoryRoomLog(RoomLog):
    """Logs of rooms in a cache in memory."""

    def __init__(self, cache: MemoryCache) -> None:
        self._memory = cache

    @property
    def is_unavailable(self) -> bool:
        return self._memory.down

    def append(self, batches: Mapping[str, Batch]) -> dict[str, Appended]:
        with self._memory.one_call():
            return {room_id: self._append(room_id, batch) for room_id, batch in batches.items()}

    def _append(self, room_id: str, batch: Batch) -> Appended:
        tag_key, log_key, marker = (room_key(kind, room_id) for kind in ("tag", "log", "live"))
        follows, log, mark = self._memory.get_many([tag_key, log_key, marker])
        self._memory.forget(newest_page(room_id))
        self._memory.set_many({tag_key: (batch.tag.encode(), TAG_MILLISECONDS / 1000)})
        if (mark == NONE and channel_user(room_id) is None) or not batch.frames:
            self._memory.forget(log_key)
        else:
            kept: list[LoggedFrame] = pickle.loads(log) if log and follows else []
            kept = kept or [LoggedFrame((follows or b"").decode(), 0, "[]")]
            kept += batch.frames
            self._memory.set_many({log_key: (pickle.dumps(kept), LOG_MILLISECONDS / 1000)})
        return Appended((follows or b"").decode(), mark)

    def since(self, tags: Mapping[str, str]) -> dict[str, Since]:
        with self._memory.one_call():
            return {room_id: self._since(room_id, tag) for room_id, tag in tags.items()}

    def _since(self, room_id: str, tag: str) -> Since:
        tag_key, log_key = (room_key(kind, room_id) for kind in ("tag", "log"))
        newest, log = self._memory.get_many([tag_key, log_key])
        if newest is None:
            made = new_tag()
            self._memory.forget(log_key)
            self._memory.set_many({tag_key: (made.encode(), TAG_MILLISECONDS / 1000)})
            return Since(made)
        if newest.decode() == tag:
            return Since(tag, [])
        kept: list[LoggedFrame] = pickle.loads(log) if log else []
        found = [at for at, frame in enumerate(kept) if tag and frame.tag == tag]
        return Since(newest.decode(), kept[found[0] + 1 :] if found else None)


class MemoryTable(DynamoTable):
    """The table of connections: ``rows`` by (roomId, connectionId). ``calls`` are those that DynamoDB would get."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Item] = {}
        self.calls = 0

    def get(self, key: Item) -> Item | None:
        self.calls += 1
        return self.rows.get(_place(key))

    def get_many(self, keys: Sequence[Item], **_: Any) -> list[Item]:
        self.calls += 1
        return [self.rows[place] for place in map(_place, keys) if place in self.rows]

    def put(self, row: Item, **_: Any) -> None:
        self.calls += 1
        self.rows[_place(row)] = row

    def put_many(self, rows: Sequence[Item]) -> None:
        self.calls += math.ceil(len(rows) / WRITE_LIMIT)
        self.rows.update((_place(row), row) for row in rows)

    def delete_many(self, keys: Sequence[Item]) -> None:
        self.calls += math.ceil(len(keys) / WRITE_LIMIT)
        for key in keys:
            self.rows.pop(_place(key), None)

    def update_if(self, condition: str, key: Item, expression: str, values: Item, **_: Any) -> bool:
        """Renew a connection, which is the only update."""
        self.calls += 1
        row, at = self.rows.get(_place(key)), values[":at"]
        if row is None or row["tokenExpiresAt"] >= at:
            return False
        row["tokenExpiresAt"] = at
        return True

    def query(self, attribute: str, value: str, **parameters: Any) -> tuple[list[Item], bool]:
        found = list(self.query_all(attribute, value, **parameters))
        limit = parameters.get("Limit", len(found))
        return found[:limit], len(found) > limit

    def query_all(self, attribute: str, value: str, **parameters: Any) -> Iterator[Item]:
        """Rows in the order of their keys; of an index, those in one room or in rooms that begin alike."""
        self.calls += 1
        room = from_wire(parameters.get("ExpressionAttributeValues", {})).get(":room", "")
        is_whole = "roomId = :room" in parameters.get("KeyConditionExpression", "")
        for (room_id, _), row in sorted(self.rows.items()):
            if row[attribute] == value and (room_id == room if is_whole else room_id.startswith(room)):
                yield row


def _place(row: Item) -> tuple[str, str]:
    return row["roomId"], row["connectionId"]


class MemoryConnections(Connections):
    """Connections whose ``rows`` are in memory."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.table = MemoryTable()
        super().__init__(self.table, clock)
        self.rows = self.table.rows


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
