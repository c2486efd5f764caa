"""Pushes stored events of declared streams to connections that follow their keys, as messages of rooms are pushed.

A stream without followers costs one read of the cache for each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.core.errors import CacheUnavailable
from headrace.core.items import Item
from headrace.core.keys import stream_channel
from headrace.core.stream import Hook
from headrace.core.times import Clock
from headrace.features.declared.folder import events
from headrace.features.declared.stream import Events
from headrace.live.hints import SubscriberHints
from headrace.queues.ports import LivePublisher
from headrace.runtime.observability import report
from headrace.services.hints import subscriber_hints
from headrace.services.live import live_publisher
from headrace.services.messages import room_log
from headrace.services.shared import cache, clock
from headrace.storage.ports import Failure
from headrace.storage.redis import Cache
from headrace.streams.chat.messages.hooks import LiveHook
from headrace.streams.chat.messages.redis import RoomLog

FOLLOWED_SECONDS = 3 * 3600
"""How long a stream counts as followed after the last ``follow``: longer than API Gateway keeps a connection open."""


def followed(stream: str) -> str:
    """The cache key that says whether anybody follows a key of a stream."""
    return f"followed:{stream}"


def hook(name: str) -> Hook:
    """Pushes the events of a declared stream."""
    return EventHook(events()[name], cache(), room_log(), subscriber_hints(), live_publisher, clock()).after_store


class EventHook(LiveHook):
    """Appends events to the logs of their keys, and publishes live copies, while anybody follows the stream.

    The mark is set before a follower gets a position, and read here after rows are stored. So what is not pushed is
    stored before that position.
    """

    def __init__(
        self,
        events: Events,
        marks: Cache,
        log: RoomLog,
        hints: SubscriberHints,
        publisher: Callable[[], LivePublisher],
        clock: Clock,
    ) -> None:
        super().__init__(log, hints, publisher, clock, lambda *_: None)
        self._events = events
        self._marks = marks

    def room_of(self, item: Item) -> str:
        return stream_channel(item["streamKey"])

    def item_of(self, item: Item) -> Mapping[str, Any]:
        return self._events.item_of(item)

    def after_store(self, items: Sequence[Item]) -> Sequence[Failure | None]:
        return super().after_store(items) if self._is_followed() else [None] * len(items)

    def mark(self, items: Sequence[Item]) -> Sequence[Failure | None]:
        """Let the next live copies of these keys say that events are missing before them."""
        self._missed.update(dict.fromkeys(map(self.room_of, items)))
        return [None] * len(items)

    def _is_followed(self) -> bool:
        try:
            return self._marks.get_many([followed(self._events.declared.name)]) != [None]
        except CacheUnavailable as error:
            report("live copies", f"events are pushed without asking whether anybody follows them: {error.message}")
            return True
