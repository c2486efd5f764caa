"""Hooks after messages are stored: the deletion of cached pages, live copies, and the last activity of rooms.

Live copies are published to the exchange ``headrace.live``, for push_live. They are best effort: only history is
complete. The messages of a room in a batch are one live copy (several beyond 32 KB). All live copies of a room go
through one queue, so that their order is preserved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from headrace.api.paging.newest_page_cache import newest_page
from headrace.core.collections import BoundedDict
from headrace.core.errors import CacheUnavailable, StoreThrottled, StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.core.times import Clock, iso
from headrace.live.connections import SOME, SubscriberHints, live_marker
from headrace.live.frames import frames
from headrace.queues.names import live_queue
from headrace.queues.ports import LivePublisher, Outgoing
from headrace.runtime.breaker import Cooldown
from headrace.runtime.observability import logger, report, report_unexpected
from headrace.runtime.threads import Parallel
from headrace.storage.ports import Cache, Failure
from headrace.streams.chat.messages.positions import position
from headrace.streams.chat.rooms.rooms import Rooms, RoomTable, first_room
from headrace.streams.chat.stream import item_of

REMEMBERED = 10_000
"""Rooms of which a hook remembers that live copies were missed, or the last stored second: about 1 MB."""
UPDATES_AT_ONCE = 8
SECOND = len("2025-11-21T10:00:58")
"""Characters of a time that is cut to its second."""


class LiveHook:
    """Deletes the cached pages of rooms with new messages, and publishes live copies. A failure fails no event.

    ``publisher`` is called for the first copies, so that its library is imported only then.
    """

    def __init__(
        self, cache: Cache, hints: SubscriberHints, publisher: Callable[[], LivePublisher], clock: Clock
    ) -> None:
        self._cache = cache
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
        followed = self._hints.rooms_with_subscribers(self._marks(list(rooms)))
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

    def _marks(self, room_ids: Sequence[str]) -> dict[str, bytes | None]:
        """Delete the newest pages of rooms; the marks that say whether they have subscribers, from the same call."""
        try:
            pages, markers = map(newest_page, room_ids), map(live_marker, room_ids)
            marks = self._cache.get_many(list(markers), deleting=list(pages))
        except CacheUnavailable as error:
            report("newest pages", f"pages of rooms with new messages may be 2 s old: {error.message}")
            marks = [SOME] * len(room_ids)
        return dict(zip(room_ids, marks, strict=True))


class ActivityHook:
    """Updates the last activity of rooms: at most one conditional write per room, second and environment.

    The order of a user's rooms depends on this write. If it fails, the newest message of the batch in that room fails
    with it, and the retry lane repeats both. Without that, the order would be wrong until the room's next message.
    """

    def __init__(
        self, activity: RoomTable, rooms: Rooms, clock: Clock, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._activity = activity
        self._rooms = rooms
        self._clock = clock
        self._seconds: BoundedDict[str, str] = BoundedDict(REMEMBERED)
        self._cooldown = Cooldown(monotonic)
        self._parallel = Parallel(UPDATES_AT_ONCE, "activity")

    def after_store(self, _stream: Stream, items: Sequence[Item]) -> Sequence[Failure | None]:
        outcomes: list[Failure | None] = [None] * len(items)
        newest: dict[str, int] = {}
        for at, item in enumerate(items):
            room_id = item["roomId"]
            if item["timestampSk"] >= items[newest.get(room_id, at)]["timestampSk"]:
                newest[room_id] = at
        due = [at for room_id, at in newest.items() if _second(items[at]) > self._seconds.get(room_id, "")]
        for at, raised in zip(due, self._parallel.map(self._raise, [items[at] for at in due]), strict=True):
            outcomes[at] = self._settle(items[at], raised)
        return outcomes

    def _raise(self, item: Item) -> bool | StoreUnavailable:
        if self._cooldown.is_active:
            return StoreUnavailable("the rooms were unavailable a moment ago")
        try:
            return self._activity.raise_to(item["roomId"], item["timestampSk"])
        except StoreUnavailable as error:
            if not isinstance(error, StoreThrottled):
                self._cooldown.start()
            return error

    def _settle(self, item: Item, raised: bool | StoreUnavailable) -> StoreUnavailable | None:
        """The outcome of an item. A missing room is created: a trusted sender's message may be stored before it."""
        try:
            if raised is False and self._rooms.get(item["roomId"]) is None:
                self._rooms.create(first_room(item["roomId"], iso(self._clock.now()), item["userId"]))
                raised = self._raise(item)
        except StoreUnavailable as error:
            raised = error
        if isinstance(raised, StoreUnavailable):
            report("last activity", f"messages are stored, but their rooms' activity is not: {raised.message}")
            return raised
        self._seconds[item["roomId"]] = _second(item)
        return None


def _second(item: Item) -> str:
    return str(item["timestampSk"][:SECOND])
