"""The newest messages of a room, kept in the cache for those who look at what has just been said.

What is kept is at most 2 s old, counted from before the table was read: it carries that time, and whoever reads it
checks it by their own clock, since a cache that was stopped for a while would keep it longer than it was told to. (The
bound is as good as the clocks of two environments agree; AWS keeps them within milliseconds.) A writer in either lane
deletes it once a message is stored. Without the cache every page comes from the table, and is the same.

Form: a line ``1 time is_complete``, then one line of JSON for each item, newest first.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.api.paging.page import CachedPage
from headrace.core.errors import CacheUnavailable
from headrace.core.items import Item
from headrace.core.keys import newest_page
from headrace.core.stream import Stream
from headrace.core.times import SECOND, Clock
from headrace.runtime.observability import report
from headrace.storage.cache import Cache
from headrace.storage.ports import Failure
from headrace.streams.chat.stream import CHAT

AGE_SECONDS = 2.0

BUSY_SECONDS = 60
"""A room is busy where its newest page was asked for less than this ago, in the same environment. Only busy rooms use
the cache: a page that nobody asks for again would cost two round trips for nothing."""
REMEMBERED = 10_000
"""Rooms that one environment remembers to have been asked for."""

SLOW_SECONDS = 0.05
"""A cache that took this long to say it has nothing is not asked to keep something: one wait per request is enough."""

_FORM = "1"


class NewestPageCache:
    """Finds and keeps the newest messages of rooms; nothing it does can fail a request."""

    def __init__(self, cache: Cache, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock
        self._asked: dict[str, int] = {}

    def find(self, room_id: str) -> tuple[CachedPage | None, bool]:
        """What is kept, if it is there and fresh; and whether something is to be kept now."""
        asked = self._clock.now()
        if not self._is_busy(room_id, asked):
            return None, False
        try:
            (value,) = self._cache.get_many([newest_page(room_id)])
        except CacheUnavailable as error:
            report("newest pages", f"pages are read from the table: {error.message}")
            return None, False
        now = self._clock.now()
        found = _decoded(value, now) if value is not None else None
        return found, now - asked < SLOW_SECONDS * SECOND

    def _is_busy(self, room_id: str, now: int) -> bool:
        last = self._asked.pop(room_id, None)
        self._asked[room_id] = now
        if len(self._asked) > REMEMBERED:
            del self._asked[next(iter(self._asked))]
        return last is not None and now - last < BUSY_SECONDS * SECOND

    def keep(self, room_id: str, newest: CachedPage, read_at: int) -> None:
        """Keep ``newest``, which the table held at ``read_at`` (microseconds) or later."""
        left = AGE_SECONDS - (self._clock.now() - read_at) / SECOND
        if left <= 0:
            return
        head = f"{_FORM} {read_at} {int(newest.is_complete)}"
        try:
            self._cache.set(newest_page(room_id), "\n".join((head, *newest.items)).encode(), left)
        except CacheUnavailable as error:
            report("newest pages", f"pages are read from the table: {error.message}")


def _decoded(value: bytes, now: int) -> CachedPage | None:
    try:
        head, *items = value.decode().split("\n")
        form, read_at, is_complete = head.split(" ")
        is_fresh = form == _FORM and 0 <= now - int(read_at) <= AGE_SECONDS * SECOND
    except ValueError:
        return None
    return CachedPage(items, is_complete == "1") if is_fresh else None


class NewestPageHook:
    """Deletes what is kept of the rooms that new messages are in: an :class:`~headrace.core.stream.StoredHook`.

    Best effort, in one round trip. Where it fails, a page is old for as long as it is kept.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def stored(self, stream: Stream, items: Sequence[Item]) -> Sequence[Failure | None]:
        """Nothing that goes wrong here concerns the stored rows."""
        if stream is CHAT:
            rooms = dict.fromkeys(item["roomId"] for item in items)
            try:
                self._cache.delete_many([newest_page(room_id) for room_id in rooms])
            except CacheUnavailable as error:
                report("newest pages", f"pages of rooms with new messages may be 2 s old: {error.message}")
        return [None] * len(items)
