"""Pushes live copies to subscribers: one frame per connection and batch, to all connections in parallel.

Best effort: no batch returns to its queue. After a failed push, the subscriber's next frame has ``missed``, so that the
client reads the missing messages from history. Rooms with many listeners take turns (:mod:`headrace.live.turns`).

Signals (:mod:`headrace.live.signals`) come from their own queue, and so to another environment than live copies.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from headrace.core.collections import BoundedDict
from headrace.core.errors import PoisonRecord, StoreUnavailable
from headrace.live.connections import Subscription
from headrace.live.copies import LiveCopy, frames, parse
from headrace.live.dynamodb import Connections
from headrace.live.push.api_gateway import ApiGatewayPusher, Push, PushResult
from headrace.live.signals import Signal, latest_by_room
from headrace.live.signals import parse as parse_signal
from headrace.live.turns import BATCH_SECONDS, Turns
from headrace.queues.names import SIGNAL_QUEUE
from headrace.queues.rabbitmq.event import rabbit_body, rabbit_correlation_id
from headrace.runtime.observability import Meter, correlate_batch, report, report_unexpected
from headrace.runtime.threads import Parallel

FIRST_REST = 1.0
LONGEST_REST = 30.0
"""Seconds for which a connection is skipped after it was late more than ``TOLERATED`` times in a row, doubled each
further time, so that not every batch waits for it."""
TOLERATED = 2
"""Each takes a second, so no connection is skipped because @connections stood still for two."""
NOTICES = 100
"""Subscribers of quiet rooms that get a notice of missed messages with one batch."""
NOTICE_SECONDS = 1.0
LOOKED_AT = 1000
"""Subscribers with missed messages, those that wait longest, among which a batch looks for those."""
REMEMBERED = 10_000
"""Late connections, and subscribers with missed messages, that an environment remembers."""
READS_AT_ONCE = 8
SIGNAL_SECONDS = 1.0
"""How long a batch of signals may take: later ones are worth more."""

T = TypeVar("T")
Subscriber = tuple[str, str]
"""A room and a connection."""
SLOW = ("late", "refused")


@dataclass(frozen=True, slots=True)
class _Audience:
    """What is new in a room, and who listens."""

    news: LiveCopy
    subscriptions: Sequence[Subscription]


class PushService:
    """Pushes batches of live copies. Remembers which connections were late, and which missed messages."""

    def __init__(
        self, connections: Connections, pusher: ApiGatewayPusher, clock: Callable[[], float] = time.time
    ) -> None:
        """``clock`` gives seconds, also of the time in which Lambda freezes the environment."""
        self._connections = connections
        self._pusher = pusher
        self._clock = clock
        self._turns = Turns(clock)
        self._late: BoundedDict[str, tuple[int, float]] = BoundedDict(REMEMBERED)
        """By connection: how often in a row it was late, and until when it is skipped."""
        self._missed: BoundedDict[Subscriber, float] = BoundedDict(REMEMBERED)
        """Since when each of these subscribers has missed messages."""
        self._unread: BoundedDict[str, None] = BoundedDict(REMEMBERED)
        """Rooms whose subscriptions could not be read for their last copies."""
        self._parallel = Parallel(READS_AT_ONCE, "rooms")

    def push(self, event: Mapping[str, Any], invocation: str = "") -> None:
        """Push the live copies of a RabbitMQ event; ``invocation`` is Lambda's request id. Never raises."""
        meter = Meter()
        try:
            queues = event["rmqMessagesByQueue"].items()
            raws = [record for queue, records in queues if not _has_signals(queue) for record in records]
            signals = [record for queue, records in queues if _has_signals(queue) for record in records]
            copies = Counter(map(rabbit_correlation_id, raws))
            correlate_batch(copies.keys() | set(map(rabbit_correlation_id, signals)), invocation)
            self._push(_by_room(raws, meter), meter)
            if signals:
                self._push_signals(latest_by_room(_readable(parse_signal, signals, meter)), meter)
            for line in meter.lines.values():
                if "LivePushed" in line.metrics:
                    line.trace("copies", copies)
        except Exception as error:  # noqa: BLE001 - reported; a retried batch would be too late to be useful
            report_unexpected(error)
        finally:
            meter.flush()

    def _push(self, rooms: dict[str, LiveCopy], meter: Meter) -> None:
        began = self._clock()
        audiences = self._audiences(self._turns.begin(rooms), meter)
        reading = self._clock() - began
        small, large = list[_Audience](), list[_Audience]()
        for each in audiences:
            (large if self._turns.is_large(each.news.room_id, len(each.subscriptions)) else small).append(each)
        results = self._deliver(small, BATCH_SECONDS)
        if large and not self._turns.must_wait:
            began = self._clock()
            results |= self._deliver(large, self._turns.seconds)
            self._turns.ended(reading + self._clock() - began)
        else:
            for each in large:
                self._turns.wait(each.news)
        results |= self._send(self._notices(rooms), NOTICE_SECONDS)
        self._record(results, meter)
        self._forget(results)

    def _notices(self, rooms: Container[str]) -> dict[Subscriber, Push]:
        """An empty frame with ``missed`` for subscribers of rooms without news: their next message may be far away."""
        now = self._clock()
        quiet = (
            (room_id, connection_id)
            for room_id, connection_id in islice(self._missed, LOOKED_AT)
            if room_id not in rooms and not self._turns.waits(room_id) and not self._rests(connection_id, now)
        )
        return {each: Push(each[1], frames(each[0], [], missed=True)) for each in islice(quiet, NOTICES)}

    def _push_signals(self, rooms: Mapping[str, Sequence[Signal]], meter: Meter) -> None:
        """Push signals, in rooms with few listeners first. A connection that is late, or rests, misses them."""
        now, sends = self._clock(), dict[Subscriber, Push]()
        read = zip(rooms.items(), self._subscriptions(dict.fromkeys(rooms, ""), meter), strict=True)
        for (room_id, signals), subscriptions in sorted(read, key=lambda each: len(each[1] or ())):
            for one in subscriptions or ():
                frames = [each.frame for each in signals if _may_get(one, each)]
                if frames and not self._rests(one.connection_id, now):
                    sends[room_id, one.connection_id] = Push(one.connection_id, frames)
        results = self._send(sends, SIGNAL_SECONDS)
        for (_, connection_id), result in results.items():
            meter.count("SignalsPushed", verdict=result)
            if result == "sent":
                self._late.pop(connection_id, None)
        self._rest(connection_id for (_, connection_id), result in results.items() if result in SLOW)
        self._forget(results)

    def _audiences(self, rooms: Mapping[str, LiveCopy], meter: Meter) -> list[_Audience]:
        """The rooms with their listeners, those with the fewest first; without rooms that cannot be read."""
        audiences, marks = list[_Audience](), {room_id: news.mark for room_id, news in rooms.items()}
        for (room_id, news), subscriptions in zip(rooms.items(), self._subscriptions(marks, meter), strict=True):
            if subscriptions is None:
                self._unread[room_id] = None
                continue
            news.missed = news.missed or room_id in self._unread
            self._unread.pop(room_id, None)
            audiences.append(_Audience(news, subscriptions))
        return sorted(audiences, key=lambda each: len(each.subscriptions))

    def _deliver(self, audiences: Iterable[_Audience], seconds: float) -> dict[Subscriber, PushResult]:
        """Push to all listeners of these rooms; those who have missed messages longest come first in their room."""
        sends: dict[Subscriber, Push] = {}
        for each in audiences:
            room_id = each.news.room_id
            waiting = sorted(
                each.subscriptions, key=lambda one: self._missed.get((room_id, one.connection_id), math.inf)
            )
            for subscription, texts in self._addressed(each.news, waiting):
                sends[room_id, subscription.connection_id] = Push(subscription.connection_id, texts)
        return self._send(sends, seconds)

    def _send(self, sends: Mapping[Subscriber, Push], seconds: float) -> dict[Subscriber, PushResult]:
        return dict(zip(sends, self._pusher.deliver(list(sends.values()), seconds), strict=True))

    def _subscriptions(self, marks: Mapping[str, str], meter: Meter) -> list[list[Subscription] | None]:
        def read(room_id: str) -> list[Subscription] | None:
            try:
                return self._connections.subscriptions(room_id, marks[room_id])
            except StoreUnavailable as error:
                report("live push", f"messages are not pushed: {error.message}")
                meter.count("LiveUnread")
                return None

        return self._parallel.map(read, list(marks))

    def _addressed(
        self, news: LiveCopy, subscriptions: Iterable[Subscription]
    ) -> Iterable[tuple[Subscription, list[bytes]]]:
        """Each subscription with its frames, which have only messages that it may read. Most share the same bytes."""
        now = self._clock()
        items = news.items.values()
        earliest = min((item["timestamp"] for item in items), default="")
        links = news.chains()
        made: dict[tuple[str | None, bool, bool], list[bytes]] = {}
        for subscription in subscriptions:
            subscriber = (news.room_id, subscription.connection_id)
            if self._rests(subscription.connection_id, now):
                self._miss(subscriber)
                continue
            since = subscription.since if subscription.since is not None and subscription.since > earliest else None
            missed, is_expiring = news.missed or subscriber in self._missed, subscription.is_expiring
            key = (since, missed, is_expiring)
            if key not in made:
                readable = [item for item in items if since is None or item["timestamp"] >= since]
                made[key] = frames(
                    news.room_id, readable, news.position, links=links, missed=missed, is_expiring=is_expiring
                )
            if made[key]:
                yield subscription, made[key]

    def _record(self, results: Mapping[Subscriber, PushResult], meter: Meter) -> None:
        served = Counter(room_id for room_id, _ in results)
        late = Counter(room_id for (room_id, _), result in results.items() if result == "late")
        for verdict, number in Counter(results.values()).items():
            meter.count("LivePushed", number, verdict=verdict)
        for subscriber, result in results.items():
            if result in (*SLOW, "unsent"):
                self._miss(subscriber)
            else:
                self._missed.pop(subscriber, None)
                self._late.pop(subscriber[1], None)
        slow = (subscriber for subscriber, result in results.items() if result in SLOW)
        self._rest(one for room_id, one in slow if not _is_overloaded(room_id, served, late))

    def _miss(self, subscriber: Subscriber) -> None:
        if subscriber not in self._missed:
            self._missed[subscriber] = self._clock()

    def _rest(self, connection_ids: Iterable[str]) -> None:
        for connection_id in set(connection_ids):  # late in several rooms of one batch is late once
            times, _ = self._late.get(connection_id, (0, 0.0))
            rest = min(LONGEST_REST, FIRST_REST * 2.0 ** min(times - TOLERATED, 16)) if times >= TOLERATED else 0.0
            self._late[connection_id] = times + 1, self._clock() + rest if rest else 0.0

    def _rests(self, connection_id: str, now: float) -> bool:
        return self._late.get(connection_id, (0, now))[1] > now

    def _forget(self, results: Mapping[Subscriber, PushResult]) -> None:
        """Delete the connections that the pushes found closed."""
        try:
            self._connections.forget(subscriber for subscriber, result in results.items() if result == "gone")
        except StoreUnavailable as error:
            report("live push", f"closed connections are not deleted before they expire: {error.message}")


def _by_room(records: Iterable[Mapping[str, Any]], meter: Meter) -> dict[str, LiveCopy]:
    """What is new by room in RabbitMQ records, in their order."""
    rooms: dict[str, LiveCopy] = {}
    for copy in _readable(parse, records, meter):
        rooms.setdefault(copy.room_id, LiveCopy(copy.room_id)).add(copy)
    return rooms


def _readable(read: Callable[[bytes], T], records: Iterable[Mapping[str, Any]], meter: Meter) -> Iterable[T]:
    for record in records:
        try:
            yield read(rabbit_body(record))
        except (PoisonRecord, ValueError):
            meter.count("LiveUnreadable")
            report("live push", "a live copy or a signal cannot be read")


def _has_signals(queue: str) -> bool:
    """Whether an event's name of a queue, such as ``live.0::/``, is that of signals."""
    return queue.partition("::")[0] == SIGNAL_QUEUE


def _may_get(subscription: Subscription, signal: Signal) -> bool:
    """Whether a subscriber may read what was sent then, and did not send it."""
    is_readable = subscription.since is None or signal.timestamp >= subscription.since
    return is_readable and subscription.connection_id != signal.connection_id


def _is_overloaded(room_id: str, served: Counter[str], late: Counter[str]) -> bool:
    """Whether this environment is the cause of lateness: most pushes were late, in this room and in the others."""
    others, others_late = served.total() - served[room_id], late.total() - late[room_id]
    if others and others_late <= others // 2:
        return False
    return late[room_id] > max(1, served[room_id] // 2)
