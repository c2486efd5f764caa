"""The newest page of a room, cached for at most 2 s.

A cached page contains the time just before the table was read. Every reader compares it with its own clock, because a
cache that was suspended keeps entries beyond their expiry time. (Clocks of AWS environments agree within milliseconds.)
Storing a message deletes its room's page. If the cache is unavailable, pages are read from the table.

Format: a line ``1 time is_complete``, then one line of JSON for each item, newest first.
"""

from __future__ import annotations

from headrace.api.paging.page import CachedPage
from headrace.core.errors import CacheUnavailable
from headrace.core.times import SECOND, Clock
from headrace.runtime.bounded import BoundedDict
from headrace.runtime.observability import report
from headrace.storage.cache import Cache

AGE_SECONDS = 2.0
BUSY_SECONDS = 60
"""A room is busy if this environment read its newest page less than this ago. Only busy rooms use the cache: two round
trips for a page that is not read again would be wasted."""
REMEMBERED = 10_000
"""Rooms whose last request an environment remembers."""
SLOW_SECONDS = 0.05
"""After a miss that took longer, the page is not stored, so that a request waits only once for a slow cache."""
_FORM = "1"


def newest_page(room_id: str) -> str:
    """The cache key of a room's newest messages."""
    return f"newest:{room_id}"


class NewestPageCache:
    """Finds and stores the newest pages of rooms. A failure of the cache fails no request."""

    def __init__(self, cache: Cache, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock
        self._asked: BoundedDict[str, int] = BoundedDict(REMEMBERED)

    def find(self, room_id: str) -> tuple[CachedPage | None, bool]:
        """The cached page, if there is a fresh one, and whether to :meth:`keep` the page that is read instead."""
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
        last = self._asked.get(room_id)
        self._asked[room_id] = now
        return last is not None and now - last < BUSY_SECONDS * SECOND

    def keep(self, room_id: str, newest: CachedPage, read_at: int) -> None:
        """Store ``newest``, which was read from the table at ``read_at`` (microseconds) or later."""
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
