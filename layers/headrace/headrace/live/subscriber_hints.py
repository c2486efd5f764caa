"""Whether anybody listens to a room: a mark in the cache, so that a room without listeners costs almost nothing.

Three marks: "some", "none", and no mark at all, which is looked up in the Connections table. Whoever subscribes writes
the row first and "some" second. Whoever stores messages and finds no row sets "none", but not over another mark. So a
look that came before a row can hide that row only if its "none" comes after the "some" has expired, and a look that
took so long sets no mark. In doubt, and without the cache, a room has listeners.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from headrace.core.errors import CacheUnavailable, StoreUnavailable
from headrace.core.keys import live_marker
from headrace.live.connections import Connections
from headrace.runtime.cooldown import Cooldown
from headrace.runtime.observability import report
from headrace.storage.cache import Cache

SOME = b"some"
NONE = b"none"
MARK_SECONDS = 30.0
"""How long a mark stands. A lost "some" (the cache was away for whoever subscribed) is made up for after as long."""
LOOK_SECONDS = MARK_SECONDS / 3
"""How old a look at the table may be to set "none"."""
LOOKS = 4
"""Rooms looked up per batch of stored messages; the others are taken to have listeners."""
COOLDOWN_SECONDS = 5.0
"""How long the table is left alone after it did not answer."""


class SubscriberHints:
    """Knows which rooms have listeners."""

    def __init__(self, cache: Cache, connections: Connections, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._cache = cache
        self._connections = connections
        self._monotonic = monotonic
        self._cooldown = Cooldown(COOLDOWN_SECONDS, monotonic)

    def gained(self, room_id: str) -> None:
        """Say that a room has a listener, after its row is written. Without it live may begin 30 s late."""
        try:
            self._cache.set(live_marker(room_id), SOME, MARK_SECONDS)
        except CacheUnavailable as error:
            report("live marker", f"a room is not marked as listened to: {error.message}")

    def heard(self, room_ids: Sequence[str]) -> list[str]:
        """The rooms among ``room_ids`` that may have listeners. One read of the cache, and a few looks at most."""
        try:
            marks = self._cache.get_many([live_marker(room_id) for room_id in room_ids])
        except CacheUnavailable:
            return list(room_ids)
        unknown = [room_id for room_id, mark in zip(room_ids, marks, strict=True) if mark is None][:LOOKS]
        silent = {room_id for room_id in unknown if not self._look(room_id)}
        return [
            room_id
            for room_id, mark in zip(room_ids, marks, strict=True)
            if mark != NONE and not (mark is None and room_id in silent)
        ]

    def _look(self, room_id: str) -> bool:
        if self._cooldown.is_active:
            return True
        began = self._monotonic()
        try:
            found = self._connections.has_subscriptions(room_id)
            if found:
                self._cache.set(live_marker(room_id), SOME, MARK_SECONDS)
            elif self._monotonic() - began < LOOK_SECONDS:
                # Another mark wins: somebody has subscribed since the look.
                return not self._cache.set(live_marker(room_id), NONE, MARK_SECONDS, only_new=True)
        except StoreUnavailable as error:
            self._cooldown.start()
            report("live audience", f"it is not known who listens: {error.message}")
            return True
        except CacheUnavailable:
            return True
        return found
