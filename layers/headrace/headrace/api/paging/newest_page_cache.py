"""The newest page of a room, cached for at most 2 s.

A cached page has the time just before the table was read. Every reader compares it with its own clock, because a cache
that was suspended keeps entries beyond their expiry time. (Clocks of AWS environments agree within milliseconds.)
Storing a message deletes its room's page. If the cache is unavailable, pages are read from the table.

Format: a line ``2 time is_complete``. Then two lines for each item, newest first: its sort key and its JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.api.paging.pager import Page, Pager
from headrace.api.paging.range_walk import ALL_KEYS
from headrace.api.paging.request import PageRequest
from headrace.core.collections import BoundedDict
from headrace.core.errors import CacheUnavailable
from headrace.core.keys import newest_page
from headrace.core.times import SECOND, Clock
from headrace.runtime.observability import report
from headrace.storage.reading import Rows
from headrace.storage.redis import Cache

ROWS = 20
"""The longest page that is served from the cache. One more item is cached, to know whether there is more."""
END = "~"
"""A sort key after every message."""
AGE_SECONDS = 2.0
BUSY_SECONDS = 60
"""A room is busy if this environment read its newest page less than this ago. Only busy rooms use the cache: two round
trips for a page that is not read again would be wasted."""
REMEMBERED = 10_000
"""Rooms whose last request an environment remembers."""
SLOW_SECONDS = 0.05
"""After a miss that took longer, the page is not stored, so that a request waits only once for a slow cache."""
_FORM = "2"


@dataclass(frozen=True, slots=True)
class CachedPage:
    """A room's newest items as JSON and their sort keys, newest first. ``is_complete``: it has no other items."""

    keys: Sequence[str]
    items: Sequence[str]
    is_complete: bool


class NewestPageCache:
    """Reads the newest pages of rooms through the cache. A failure of the cache fails no request."""

    def __init__(self, cache: Cache, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock
        self._asked: BoundedDict[str, int] = BoundedDict(REMEMBERED)

    def page(self, room_id: str, pager: Pager, request: PageRequest, read_at: int) -> Page:
        """The page of a room that ``request`` selects; only a newest page of at most ``ROWS`` is in the cache.

        ``read_at`` is the time in microseconds at which the request began. Raises what the pager raises.
        """
        if not _is_newest(request) or request.limit > ROWS:
            return pager.page(request)
        cached, is_wanted = self.find(room_id)
        if cached is not None and _shows(pager, cached, request.limit):
            rows = [{pager.rows.sort_attribute: key} for key in cached.keys]
            return pager.newest_page(Rows(rows, None), list(cached.items), request)
        if not is_wanted:
            return pager.page(request)
        found, items = pager.newest(ROWS + 1)
        keys = [row[pager.rows.sort_attribute] for row in found.items]
        if _are_newest(pager, keys, is_all=found.more is None):
            self._keep(room_id, CachedPage(keys, items, len(items) <= ROWS), read_at)
        return pager.newest_page(found, items, request)

    def find(self, room_id: str) -> tuple[CachedPage | None, bool]:
        """The cached page, if there is a fresh one, and whether to cache the page that is read instead."""
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

    def _keep(self, room_id: str, newest: CachedPage, read_at: int) -> None:
        left = AGE_SECONDS - (self._clock.now() - read_at) / SECOND
        if left <= 0:
            return
        lines = [f"{_FORM} {read_at} {int(newest.is_complete)}"]
        for pair in zip(newest.keys, newest.items, strict=True):
            lines += pair
        try:
            self._cache.set_many({newest_page(room_id): ("\n".join(lines).encode(), left)})
        except CacheUnavailable as error:
            report("newest pages", f"pages are read from the table: {error.message}")


def _is_newest(request: PageRequest) -> bool:
    """Whether the newest items are requested."""
    places = request.before, request.after, request.around, request.start, request.end, request.cursor
    return all(each is None for each in places)


def _shows(pager: Pager, cached: CachedPage, limit: int) -> bool:
    """Whether the cached page has ``limit`` items, or all, and the caller may see them.

    The first item that is not on the page must be seen too, to say that there is more.
    """
    if len(cached.keys) <= limit and not cached.is_complete:
        return False
    if not cached.keys:
        return True
    last = cached.keys[min(limit, len(cached.keys) - 1)]
    return any(span.holds(last, cached.keys[0]) for span in pager.spans)


def _are_newest(pager: Pager, keys: Sequence[str], *, is_all: bool) -> bool:
    """Whether rows that one caller may see are the newest of the whole room; ``is_all``: there is no other row."""
    if len(keys) <= ROWS:
        return is_all and pager.spans == [ALL_KEYS]
    newest = pager.spans[-1]
    return newest.upper is None and newest.holds(keys[-1], END)


def _decoded(value: bytes, now: int) -> CachedPage | None:
    try:
        head, *lines = value.decode().split("\n")
        form, read_at, is_complete = head.split(" ")
        is_fresh = form == _FORM and 0 <= now - int(read_at) <= AGE_SECONDS * SECOND
    except ValueError:
        return None
    return CachedPage(lines[::2], lines[1::2], is_complete == "1") if is_fresh else None
