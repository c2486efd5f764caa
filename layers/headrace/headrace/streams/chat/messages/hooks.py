"""Hooks after messages are stored: live copies, and the invalidation of cached pages.

Live copies are published to the exchange ``headrace.live``, for push_live. They are best effort: only history is
complete. The messages of a room in a batch are one live copy (several beyond 32 KB). All live copies of a room go
through one queue, so that their order is preserved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.api.paging.newest_page_cache import newest_page
from headrace.core.errors import CacheUnavailable
from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.core.times import Clock
from headrace.live.frames import frames
from headrace.live.subscriber_hints import SubscriberHints
from headrace.queues.names import live_queue
from headrace.queues.ports import LivePublisher, Outgoing
from headrace.runtime.bounded import BoundedDict
from headrace.runtime.observability import logger, report, report_unexpected
from headrace.storage.ports import Cache, Failure
from headrace.streams.chat.messages.positions import position
from headrace.streams.chat.stream import item_of

REMEMBERED = 10_000
"""Rooms of which an environment remembers that live copies were missed: about 1 MB."""


class LiveHook:
    """Publishes live copies of stored messages. A failure fails no event.

    ``publisher`` is called for the first copies, so that its library is imported only then.
    """

    def __init__(self, hints: SubscriberHints, publisher: Callable[[], LivePublisher], clock: Clock) -> None:
        self._hints = hints
        self._publisher = publisher
        self._clock = clock
        self._missed: BoundedDict[str, None] = BoundedDict(REMEMBERED)
        """Rooms whose last live copies were not published. Their next ones say so."""

    def after_store(self, _stream: Stream, items: Sequence[Item]) -> Sequence[Failure | None]:
        try:
            self._publish(items)
        except Exception as error:  # noqa: BLE001 - reported; a live copy never sends an event back to its lane
            report_unexpected(error)
        return [None] * len(items)

    def _publish(self, items: Sequence[Item]) -> None:
        rooms: dict[str, dict[str, Item]] = {}
        for item in items:
            rooms.setdefault(item["roomId"], {})[item["timestampSk"]] = item
        followed = self._hints.rooms_with_subscribers(list(rooms))
        at = position(self._clock.now())
        messages = [
            Outgoing(live_queue(room_id), body, logger.get_correlation_id() or "")
            for room_id in followed
            for body in frames(room_id, map(item_of, rooms[room_id].values()), at, missed=room_id in self._missed)
        ]
        failure = self._publisher().publish(messages) if messages else None
        if failure is not None:
            report("live copies", f"stored messages are not pushed: {failure.message}")
        for room_id in followed:
            if failure is not None:
                self._missed[room_id] = None
            else:
                self._missed.pop(room_id, None)


class NewestPageHook:
    """Deletes the cached pages of rooms with new messages. When that fails, a page may be up to 2 s old."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def after_store(self, _stream: Stream, items: Sequence[Item]) -> Sequence[Failure | None]:
        rooms = dict.fromkeys(item["roomId"] for item in items)
        try:
            self._cache.delete_many([newest_page(room_id) for room_id in rooms])
        except CacheUnavailable as error:
            report("newest pages", f"pages of rooms with new messages may be 2 s old: {error.message}")
        return [None] * len(items)
