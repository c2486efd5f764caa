"""History: pages of a room's or a user's messages, by time and then by id, newest first.

A page has ``items``, ``next``, ``previous`` and ``hasMore``. ``next`` is sent as ``before`` and leads to older
messages, ``previous`` as ``after`` and leads to newer ones. ``hasMore`` is about the direction of the request (about
both, around a message). A page with fewer items than ``limit`` is not the end; only ``hasMore`` says so.

Pages of a room also have a ``position``. Sent as ``since``, it selects the messages that were stored afterwards
(:mod:`headrace.streams.chat.positions`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headrace.api.paging.cursors import CursorSigner, Query
from headrace.api.paging.page import ROWS, Page, cut
from headrace.api.paging.pager import BEFORE, Pager
from headrace.api.paging.range_walk import ReadBudget, ranges, read_page, spans_of
from headrace.api.paging.request import PageRequest
from headrace.core import times
from headrace.core.caller import Caller
from headrace.core.json import encode
from headrace.storage.ports import RangeQuery, RangeReader, Rows
from headrace.streams.chat import positions
from headrace.streams.chat.access import ReadScope, RoomAccess
from headrace.streams.chat.newest_page_cache import NewestPageCache
from headrace.streams.chat.stream import item_of

ROOM_BUDGET = ReadBudget(reads=64, rows=4000)
"""Reads that a page may spend on expired rows which are not deleted yet. After the first few, each passes over 1 MB, so
``hasMore`` is exact unless about 60 MB of expired rows follow one another."""
USER_BUDGET = ReadBudget(reads=6, rows=500)
ROOMS_PER_PAGE = 50
"""Rooms whose read scope one page of another user's messages may read."""
IN_INDEX = "-"
"""In a cursor of a walk with ``since``: the beginning of the index of late messages. "" is a place in the table."""


class History:
    """Reads pages of history. Rows whose ``expiresAt`` has passed are never shown.

    ``table`` is the table of messages. Without ``newest``, every page comes from the table.
    """

    def __init__(
        self,
        reader: RangeReader,
        cursors: CursorSigner,
        table: str,
        clock: times.Clock,
        access: RoomAccess,
        newest: NewestPageCache | None = None,
    ) -> None:
        self._reader = reader
        self._cursors = cursors
        self._table = table
        self._clock = clock
        self._access = access
        self._newest = newest

    def room(self, caller: Caller, room_id: str, request: PageRequest, since: int | None = None) -> Page:
        """A page of one room, within the caller's intervals; of the messages stored after ``since``, if it is given.

        Reads are consistent, so a page shows all messages that were stored before. Only the newest page may come from
        the cache, and be 2 s old. ``has_more`` is exact, except with ``since``.

        Raises:
            Forbidden: the caller may not read; InvalidRequest; StoreUnavailable.
        """
        now = self._clock.now()
        scope = self._access.read_scope(caller, room_id)
        if since is not None:
            return self._stored_since(caller, room_id, request, since, scope, now)
        return replace(self._room(caller, room_id, request, scope, now), position=positions.position(now))

    def _room(self, caller: Caller, room_id: str, request: PageRequest, scope: ReadScope, now: int) -> Page:
        query = Query("room", room_id, caller.subject, request.start, request.end)
        rows = RangeQuery(self._table, "roomId", room_id, "timestampSk", consistent=True)
        spans = spans_of(scope.intervals, request.start, request.end)
        seconds = now // times.SECOND
        pager = Pager(self._reader, self._cursors, query, rows, spans, ("timestampSk",), ROOM_BUDGET, seconds, item_of)
        if self._newest is None or not request.is_newest or request.limit > ROWS:
            return pager.page(request)
        kept, is_wanted = self._newest.find(room_id)
        if kept is not None and (page := pager.kept(kept, request)) is not None:
            return page
        if not is_wanted:
            return pager.page(request)
        page, newest = pager.newest(request)
        if newest is not None:
            self._newest.keep(room_id, newest, now)
        return page

    def _stored_since(
        self, caller: Caller, room_id: str, request: PageRequest, since: int, scope: ReadScope, now: int
    ) -> Page:
        """Messages of times after the position less the overlap, newest first, then earlier ones that were stored late.

        All pages of a walk have the position of the first one, since later pages miss what is stored meanwhile.
        """
        first, seconds = positions.first_time(since), now // times.SECOND
        query = Query("since", room_id, caller.subject, first)
        begun, key, stored_at = positions.position(now), "", ""
        if request.before is not None:
            begun, key, stored_at = self._cursors.verify(request.before, query, BEFORE, parts=3)
        rows: list[dict[str, Any]] = []
        more: tuple[str, str] | None = ("", IN_INDEX) if not stored_at else (key, stored_at)
        if not stored_at:
            table = RangeQuery(self._table, "roomId", room_id, "timestampSk", consistent=True)
            place = {"timestampSk": key} if key else None
            spans = ranges(table, spans_of(scope.intervals, first, None), place, True)
            found = read_page(self._reader, spans, request.limit, seconds, ROOM_BUDGET)
            rows = found.items
            if found.more is not None:
                more = (found.more["timestampSk"], "")
        count_of_table = len(rows)
        if more is not None and more[1] and len(rows) < request.limit:
            found = self._stored_late(room_id, first, more, request.limit - len(rows), scope, seconds)
            rows += found.items
            more = None if found.more is None else (found.more["timestampSk"], found.more[positions.STORED_AT])
        items = [encode(item_of(row)) for row in rows]
        count = cut(items, request.max_bytes)
        if count < len(items):
            last = rows[count - 1]
            more = (last["timestampSk"], "" if count <= count_of_table else last[positions.STORED_AT])
        following = self._cursors.sign(query, BEFORE, (begun, *more)) if more is not None else None
        return Page(items[:count], following, None, more is not None, begun)

    def _stored_late(
        self, room_id: str, first: str, place: tuple[str, str], limit: int, scope: ReadScope, seconds: int
    ) -> Rows:
        """Messages that were stored late, at ``first`` or after it, except those that the table shows anyway."""
        key, stored_at = place
        start = {"roomId": room_id, "timestampSk": key, positions.STORED_AT: stored_at} if key else None
        late = RangeQuery(
            self._table, "roomId", room_id, positions.STORED_AT, index=positions.LATE_INDEX, lower=first, start=start
        )

        def sees(row: Mapping[str, Any]) -> bool:
            return bool(row["timestamp"] < first) and scope.covers(row["timestamp"])

        return read_page(self._reader, [late], limit, seconds, ROOM_BUDGET, sees)

    def user(self, caller: Caller, user_id: str, request: PageRequest) -> Page:
        """A page of one user's messages in all rooms. Other callers see only those that they may read.

        The work is bounded: ``has_more`` is also true when the page stopped early. The index may lag by milliseconds.

        Raises:
            Forbidden: the caller may not read; InvalidRequest; StoreUnavailable.
        """
        now = self._clock.now()
        query = Query("user", user_id, caller.subject, request.start, request.end)
        rows = RangeQuery(self._table, "userId", user_id, "timestampSk", index="UserIndex")
        spans = spans_of(None, request.start, request.end)
        visible = None if user_id == caller.subject else _RoomAccessFilter(self._reader, self._access, caller)
        reader, sees = (visible, visible.sees) if visible is not None else (self._reader, None)
        position, seconds = ("timestampSk", "roomId"), now // times.SECOND
        pager = Pager(reader, self._cursors, query, rows, spans, position, USER_BUDGET, seconds, item_of, sees)
        return pager.page(request)


class _RoomAccessFilter:
    """Reads rows of another user and decides which of them ``caller`` may see. It reads the scope of each room once."""

    def __init__(self, reader: RangeReader, access: RoomAccess, caller: Caller) -> None:
        self._reader = reader
        self._access = access
        self._caller = caller
        self._scopes: dict[str, ReadScope | None] = {}

    def read(self, query: RangeQuery) -> Rows:
        return self.read_many([query])[0]

    def read_many(self, queries: Sequence[RangeQuery]) -> list[Rows]:
        answers = self._reader.read_many(queries)
        rooms = dict.fromkeys(row["roomId"] for rows in answers for row in rows.items)
        unknown = [room_id for room_id in rooms if room_id not in self._scopes]
        if asked := unknown[: ROOMS_PER_PAGE - len(self._scopes)]:
            self._scopes |= self._access.read_scopes(self._caller, asked)
        return answers

    def sees(self, row: Mapping[str, Any]) -> bool | None:
        """Whether the row may be shown; ``None`` beyond ``ROOMS_PER_PAGE`` rooms."""
        if row["roomId"] not in self._scopes:
            return None
        scope = self._scopes[row["roomId"]]
        return scope is not None and scope.covers(row["timestamp"])
