"""Pushes live copies to subscribers: one frame per connection and batch, to all connections in parallel.

Best effort: no batch returns to its queue. After a failed push, the subscriber's next frame has ``missed``, so that the
client reads the missing messages from history.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core.errors import PoisonRecord, StoreUnavailable
from headrace.live import frames
from headrace.live.connections import Connections, Subscription
from headrace.live.push.port import ConnectionPusher, Push, PushResult
from headrace.queues.ports import rabbit_body
from headrace.runtime.bounded import BoundedDict
from headrace.runtime.observability import Meter, report, report_unexpected
from headrace.runtime.parallel import Parallel

BATCH_SECONDS = 5.0
"""How long a batch may take; the next ones wait in the queue."""
FIRST_REST = 1.0
LONGEST_REST = 30.0
"""Seconds for which a connection is skipped after it was late twice in a row, doubled each further time, so that not
every batch waits for it."""
REMEMBERED = 10_000
"""Late connections, and subscribers with missed messages, that an environment remembers."""
READS_AT_ONCE = 8

Subscriber = tuple[str, str]
"""A room and a connection."""


@dataclass(slots=True)
class _News:
    """What is new in a room: its items by key, the latest position, and whether earlier messages are missing."""

    items: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    position: str = ""
    missed: bool = False

    def add(self, copy: frames.LiveCopy) -> None:
        self.items.update((item["key"], item) for item in copy.items)
        self.position = max(self.position, copy.position)
        self.missed = self.missed or copy.missed


@dataclass(slots=True)
class _Late:
    """How often in a row a connection was late, and until when it is skipped."""

    times: int = 0
    rests_until: float = float("-inf")


class PushService:
    """Pushes batches of live copies. Remembers which connections were late, and which missed messages."""

    def __init__(
        self, connections: Connections, pusher: ConnectionPusher, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._connections = connections
        self._pusher = pusher
        self._monotonic = monotonic
        self._late: BoundedDict[str, _Late] = BoundedDict(REMEMBERED)
        self._missed: BoundedDict[Subscriber, None] = BoundedDict(REMEMBERED)
        self._unread: BoundedDict[str, None] = BoundedDict(REMEMBERED)
        """Rooms whose subscriptions could not be read for their last copies."""
        self._parallel = Parallel(READS_AT_ONCE, "rooms")

    def push(self, event: Mapping[str, Any]) -> None:
        """Push the live copies of a RabbitMQ event. Never raises."""
        meter = Meter()
        try:
            self._push(_rooms(event, meter), meter)
        except Exception as error:  # noqa: BLE001 - reported; a retried batch would be too late to be useful
            report_unexpected(error)
        finally:
            meter.flush()

    def _push(self, rooms: Mapping[str, _News], meter: Meter) -> None:
        sends: list[Push] = []
        subscribers: list[Subscriber] = []
        for (room_id, news), subscriptions in zip(rooms.items(), self._subscriptions(list(rooms), meter), strict=True):
            if subscriptions is None:
                self._unread[room_id] = None
                continue
            news.missed = news.missed or room_id in self._unread
            self._unread.pop(room_id, None)
            for subscription, texts in self._addressed(room_id, news, subscriptions):
                sends.append(Push(subscription.connection_id, texts))
                subscribers.append((room_id, subscription.connection_id))
        results = self._pusher.deliver(sends, BATCH_SECONDS)
        self._record(subscribers, results, meter)
        self._unsubscribe(
            subscriber for subscriber, result in zip(subscribers, results, strict=True) if result == "gone"
        )

    def _subscriptions(self, room_ids: Sequence[str], meter: Meter) -> list[list[Subscription] | None]:
        def read(room_id: str) -> list[Subscription] | None:
            try:
                return self._connections.subscriptions(room_id)
            except StoreUnavailable as error:
                report("live push", f"messages are not pushed: {error.message}")
                meter.count("LiveUnread")
                return None

        return self._parallel.map(read, room_ids)

    def _addressed(
        self, room_id: str, news: _News, subscriptions: Iterable[Subscription]
    ) -> Iterable[tuple[Subscription, list[bytes]]]:
        """Each subscription with its frames, which have only messages that it may read. Most share the same bytes."""
        now = self._monotonic()
        items = news.items.values()
        earliest = min((item["timestamp"] for item in items), default="")
        made: dict[tuple[str | None, bool], list[bytes]] = {}
        for subscription in subscriptions:
            subscriber = (room_id, subscription.connection_id)
            late = self._late.get(subscription.connection_id)
            if late is not None and late.rests_until > now:
                self._missed[subscriber] = None
                continue
            since = subscription.since if subscription.since is not None and subscription.since > earliest else None
            key = (since, news.missed or subscriber in self._missed)
            if key not in made:
                readable = [item for item in items if since is None or item["timestamp"] >= since]
                made[key] = frames.frames(room_id, readable, news.position, missed=key[1])
            if made[key]:
                yield subscription, made[key]

    def _record(self, subscribers: Sequence[Subscriber], results: Sequence[PushResult], meter: Meter) -> None:
        # If most are late, this environment is slow, not the connections.
        is_overloaded = results.count("late") > max(1, len(results) // 2)
        for subscriber, result in zip(subscribers, results, strict=True):
            meter.count("LivePushed", verdict=result)
            if result in ("late", "refused"):
                self._missed[subscriber] = None
                if not is_overloaded:
                    self._rest(subscriber[1])
            else:
                self._missed.pop(subscriber, None)
                self._late.pop(subscriber[1], None)

    def _rest(self, connection_id: str) -> None:
        late = self._late.setdefault(connection_id, _Late())
        late.times += 1
        if late.times > 1:
            rest = min(LONGEST_REST, FIRST_REST * 2 ** min(late.times - 2, 16))
            late.rests_until = self._monotonic() + rest

    def _unsubscribe(self, gone: Iterable[Subscriber]) -> None:
        rooms: dict[str, list[str]] = {}
        for room_id, connection_id in gone:
            rooms.setdefault(room_id, []).append(connection_id)
        for room_id, connection_ids in rooms.items():
            try:
                self._connections.unsubscribe(room_id, connection_ids)
            except StoreUnavailable as error:
                report("live push", f"closed connections are not deleted before they expire: {error.message}")


def _rooms(event: Mapping[str, Any], meter: Meter) -> dict[str, _News]:
    """What is new by room, in the order of the event."""
    rooms: dict[str, _News] = {}
    for queue in event["rmqMessagesByQueue"].values():
        for record in queue:
            try:
                copy = frames.parse(rabbit_body(record))
            except (PoisonRecord, ValueError):
                meter.count("LiveUnreadable")
                report("live push", "a live copy cannot be read")
                continue
            rooms.setdefault(copy.room_id, _News()).add(copy)
    return rooms
