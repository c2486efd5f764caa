"""Marks in the cache whether a room has subscribers, so that messages of rooms without any cost almost nothing.

A mark is "some" or "none"; without a mark, the Connections table is read. A subscribing connection first writes its row
and then sets "some". A function that stores messages and finds no row sets "none", but only if there is no mark. Its
read could miss a later row only if "none" is set after "some" has expired, so a read that takes long sets no mark. If
it is uncertain, and without the cache, a room counts as one with subscribers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from headrace.core.errors import CacheUnavailable, StoreUnavailable
from headrace.live.connections import Connections
from headrace.runtime.cooldown import Cooldown
from headrace.runtime.observability import report
from headrace.storage.ports import Cache

SOME = b"some"
NONE = b"none"
MARK_SECONDS = 30.0
"""How long a mark is valid, and how late live copies may begin if "some" could not be set."""
LOOK_SECONDS = MARK_SECONDS / 3
"""How long a read of the table may take to set "none"."""
LOOKS = 4
"""Rooms that are looked up in the table per batch of stored messages; others count as rooms with subscribers."""
COOLDOWN_SECONDS = 5.0
"""How long the table is not read after a failed read."""


def live_marker(room_id: str) -> str:
    """The cache key of whether a room has subscribers."""
    return f"live:{room_id}"


class SubscriberHints:
    """Says which rooms may have subscribers."""

    def __init__(self, cache: Cache, connections: Connections, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._cache = cache
        self._connections = connections
        self._monotonic = monotonic
        self._cooldown = Cooldown(COOLDOWN_SECONDS, monotonic)

    def mark_subscribed(self, room_id: str) -> None:
        """Set "some" for a room after a subscription is stored."""
        try:
            self._cache.set_many({live_marker(room_id): (SOME, MARK_SECONDS)})
        except CacheUnavailable as error:
            report("live marker", f"the mark that a room has subscribers is not set: {error.message}")

    def rooms_with_subscribers(self, room_ids: Sequence[str]) -> list[str]:
        """The rooms that may have subscribers: reads the cache once, and the table at most four times."""
        try:
            marks = self._cache.get_many([live_marker(room_id) for room_id in room_ids])
        except CacheUnavailable:
            return list(room_ids)
        unknown = [room_id for room_id, mark in zip(room_ids, marks, strict=True) if mark is None][:LOOKS]
        empty = {room_id for room_id, mark in zip(room_ids, marks, strict=True) if mark == NONE}
        empty |= {room_id for room_id in unknown if not self._has_subscribers(room_id)}
        return [room_id for room_id in room_ids if room_id not in empty]

    def _has_subscribers(self, room_id: str) -> bool:
        if self._cooldown.is_active:
            return True
        began = self._monotonic()
        try:
            found = self._connections.has_subscriptions(room_id)
            if found:
                self._cache.set_many({live_marker(room_id): (SOME, MARK_SECONDS)})
            elif self._monotonic() - began < LOOK_SECONDS:
                # Another mark wins: a connection has subscribed since the read.
                return not self._cache.add_many({live_marker(room_id): (NONE, MARK_SECONDS)})[0]
        except StoreUnavailable as error:
            self._cooldown.start()
            report("live audience", f"subscriptions cannot be read: {error.message}")
            return True
        except CacheUnavailable:
            return True
        return found
