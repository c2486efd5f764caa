"""History: pages of a room's or a user's messages, by time and then by id, newest first.

A page with fewer items than ``limit`` is not the end; only ``hasMore`` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from headrace.api.paging.cursors import CursorSigner, Query
from headrace.api.paging.newest_page_cache import NewestPageCache
from headrace.api.paging.pager import BEFORE, Page, Pager, cut
from headrace.api.paging.range_walk import ALL_KEYS, ReadBudget, ranges, read_page, spans_of
from headrace.api.paging.request import PageRequest, refuse_beside
from headrace.api.params import UserPath
from headrace.api.router import Request
from headrace.core import times
from headrace.core.caller import Caller
from headrace.core.errors import FieldError, InvalidCursor, NotFound, echo
from headrace.core.items import Item
from headrace.core.json import encode
from headrace.storage.reading import RangeQuery, RangeReader, Rows
from headrace.streams.chat.message_row import no_message
from headrace.streams.chat.messages import positions
from headrace.streams.chat.messages.dynamodb import MessageTable
from headrace.streams.chat.messages.redis import RoomLog
from headrace.streams.chat.messages.room_log import newest_tag
from headrace.streams.chat.room_shards import partition_of, partitions_of
from headrace.streams.chat.rooms.access import RoomAccess, no_room
from headrace.streams.chat.rooms.read_scope import ReadScope
from headrace.streams.chat.rooms.requests import MessagePath, RoomPath
from headrace.streams.chat.rooms.room_filter import RoomFilter
from headrace.streams.chat.rooms.rooms import Rooms
from headrace.streams.chat.stream import POSITION, USER_INDEX, item_of

ROOM_BUDGET = ReadBudget(reads=64, rows=4000)
"""Reads that a page may spend on expired rows which are not deleted yet. After the first few, each passes over 1 MB, so
``hasMore`` is exact unless about 60 MB of expired rows follow one another."""
USER_BUDGET = ReadBudget(reads=6, rows=500)
IN_INDEX = "-"
"""In a cursor of a walk with ``since``: the beginning of the index of late messages. "" is a place in the table."""

Show = Callable[[Mapping[str, Any], dict[str, Any]], None]
"""Adds to the item of a row what readers of the HTTP API see of it, such as links."""


def checked_position(value: object) -> positions.Position:
    """The parts of a position that a client sent."""
    try:
        return positions.parse_position(str(value))
    except ValueError:
        raise PydanticCustomError("position", "is not a position", {"allowed": positions.POSITION_FORM}) from None


Position = Annotated[
    int,
    BeforeValidator(lambda value: checked_position(value).time),
    POSITION,
]
"""The time of a position, in microseconds."""


class RoomPageRequest(PageRequest):
    """A page of a room. With ``since``, it has the messages that were stored after that position, in microseconds."""

    since: Position | None = Field(default=None, description=positions.POSITION_FORM)

    @field_validator("since")
    @classmethod
    def _is_without_other_bounds(cls, value: int | None, info: ValidationInfo) -> int | None:
        others = ("after", "around", "start", "end", "cursor")
        refuse_beside(cls, value, info, others, "since alone, or with limit and before")
        return value


@dataclass(frozen=True, slots=True)
class ChatReading:
    """What the routes of history use, and features that show more of a message."""

    history: History
    rooms: Rooms
    messages: MessageTable


def read_room(chat: ChatReading, request: Request[RoomPath, RoomPageRequest, None]) -> dict[str, Any]:
    """Read a page of a room's messages."""
    return chat.history.room(request.caller, request.path.room_id, request.query, request.query.since).to_body()


def read_user(chat: ChatReading, request: Request[UserPath, PageRequest, None]) -> dict[str, Any]:
    """Read a page of a user's messages, in all rooms that the caller may read."""
    return chat.history.user(request.caller, request.path.user_id, request.query).to_body()


def readable_message(chat: ChatReading, request: Request[MessagePath, Any, None]) -> Item:
    """The row of a message that the caller may read.

    Raises:
        NotFound, Forbidden: there is no such message for the caller; StoreUnavailable.
    """
    room_id, key = request.path.room_id, request.path.key
    scope = chat.history.access.read_scope(request.caller, room_id)
    message = chat.messages.message(room_id, key)
    if message is None or not scope.shows(message, request.now):
        raise no_message(key)
    return message


@dataclass(frozen=True, slots=True)
class History:
    """Reads pages of history. Rows whose ``expiresAt`` has passed, or that their room keeps no more, are never shown.

    ``table`` is the table of messages. Without ``newest``, every page comes from the table. With ``log``, the positions
    of pages with ``since`` have the tag of the room's newest frame. ``shows`` are those of features.
    """

    reader: RangeReader
    cursors: CursorSigner
    table: str
    clock: times.Clock
    access: RoomAccess
    newest: NewestPageCache | None = None
    log: RoomLog | None = None
    shows: Sequence[Show] = ()

    def item_of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The item of a row."""
        item = item_of(row)
        for show in self.shows:
            show(row, item)
        return item

    def room(self, caller: Caller, room_id: str, request: PageRequest, since: int | None = None) -> Page:
        """A page of one room, within the caller's intervals; of the messages stored after ``since``, if it is given.

        Reads are consistent, so a page shows all messages that were stored before. Only the newest page may come from
        the cache, and be 2 s old. ``has_more`` is exact, except with ``since``.

        Raises:
            NotFound: there is neither the room nor a message in it.
            Forbidden: the caller may not read; InvalidRequest; StoreUnavailable.
        """
        now = self.clock.now()
        scope = self.access.read_scope(caller, room_id)
        first = None if since is None else positions.first_time(since)
        if request.cursor is not None:
            request, first = self._continued(caller, room_id, request)
        if first is not None:
            # Read before the table: then the table has all messages of this frame and of earlier ones.
            tag = newest_tag(self.log, room_id) if scope.exists and request.before is None else ""
            page = self.stored_since(caller, room_id, request, first, scope, positions.position(now, tag))
        else:
            page = replace(self._room(caller, room_id, request, scope, now), position=positions.position(now))
        if not page.items and not scope.exists:
            raise no_room(room_id)
        return page

    def _room(self, caller: Caller, room_id: str, request: PageRequest, scope: ReadScope, now: int) -> Page:
        query = Query("room", room_id, caller.subject, request.start, request.end)
        rows = RangeQuery(self.table, "roomId", room_id, "timestampSk", consistent=True)
        spans = scope.spans(now, request.start, request.end)
        pager = Pager(
            reader=self.reader,
            cursors=self.cursors,
            query=query,
            rows=rows,
            spans=spans,
            position=("timestampSk",),
            effort=ROOM_BUDGET,
            now=now // times.SECOND,
            item_of=self.item_of,
        )
        return pager.page(request) if self.newest is None else self.newest.page(room_id, pager, request, now)

    def _continued(self, caller: Caller, room_id: str, request: PageRequest) -> tuple[PageRequest, str | None]:
        """The request with the query of its ``cursor``, and the first time of a walk with ``since``."""
        try:
            return request.resolved(self.cursors, Query("room", room_id, caller.subject)), None
        except InvalidCursor:
            found = request.resolved(self.cursors, Query("since", room_id, caller.subject))
        return found, found.start

    def stored_since(
        self, caller: Caller, room_id: str, request: PageRequest, first: str, scope: ReadScope, begun: str
    ) -> Page:
        """Messages of the time ``first`` and later, newest first; then earlier ones that were stored late since then.

        The first page has the position ``begun``, which is made before this call. All pages of a walk have the position
        of the first one, since later pages miss what is stored meanwhile. Raises StoreUnavailable.
        """
        now = self.clock.now()
        query = Query("since", room_id, caller.subject, first)
        key, stored_at = "", ""
        if request.before is not None:
            begun, key, stored_at = self.cursors.verify(request.before, query, BEFORE, parts=3)
        rows: list[dict[str, Any]] = []
        more: tuple[str, str] | None = ("", IN_INDEX) if not stored_at else (key, stored_at)
        if not stored_at:
            table = RangeQuery(self.table, "roomId", room_id, "timestampSk", consistent=True)
            place = {"timestampSk": key} if key else None
            spans = ranges(table, scope.spans(now, first), place, True)
            found = read_page(self.reader, spans, request.limit, now // times.SECOND, ROOM_BUDGET)
            rows = found.items
            if found.more is not None:
                more = (found.more["timestampSk"], "")
        count_of_table = len(rows)
        if more is not None and more[1] and len(rows) < request.limit:
            found = self._stored_late(room_id, first, more, request.limit - len(rows), scope, now)
            rows += found.items
            more = None if found.more is None else (found.more["timestampSk"], found.more[positions.STORED_AT])
        items = [encode(self.item_of(row)) for row in rows]
        count = cut(items, request.max_bytes)
        if count < len(items):
            last = rows[count - 1]
            more = (last["timestampSk"], "" if count <= count_of_table else last[positions.STORED_AT])
        following = self.cursors.sign(query, BEFORE, (begun, *more)) if more is not None else None
        return Page(items[:count], following, None, more is not None, begun)

    def _stored_late(
        self, room_id: str, first: str, place: tuple[str, str], limit: int, scope: ReadScope, now: int
    ) -> Rows:
        """Messages that were stored late, at ``first`` or after it, except those that the table shows anyway.

        Those of one shard of the room come after those of another. The place says in which one it is.
        """
        key, stored_at = place
        partitions, start = partitions_of(room_id), None
        if key:
            start = {"roomId": room_id, "timestampSk": key, positions.STORED_AT: stored_at}
            partitions = partitions[partitions.index(partition_of(room_id, key)) :]
        late = RangeQuery(
            self.table, "roomId", partitions[0], positions.STORED_AT, index=positions.LATE_INDEX, lower=first
        )
        spans = [(replace(late, start=start), ALL_KEYS)]
        spans += [(replace(late, partition=partition), ALL_KEYS) for partition in partitions[1:]]

        def sees(row: Mapping[str, Any]) -> bool:
            return row["timestamp"] < first and scope.shows(row, now)

        # A page before this one was full: one shard may fill this one too.
        at_once = 1 if key else len(spans)
        return read_page(self.reader, spans, limit, now // times.SECOND, ROOM_BUDGET, sees, at_once)

    def user(self, caller: Caller, user_id: str, request: PageRequest) -> Page:
        """A page of one user's messages in all rooms. Other callers see only those that they may read.

        The work is bounded: ``has_more`` is also true when the page stopped early. The index may lag by milliseconds.
        Only an empty page of another user costs reads that find out whether the user exists.

        Raises:
            NotFound: another user, who has no message and was in no room.
            Forbidden: the caller may not read; InvalidRequest; StoreUnavailable.
        """
        now = self.clock.now()
        request = request.resolved(self.cursors, Query("user", user_id, caller.subject))
        query = Query("user", user_id, caller.subject, request.start, request.end)
        rows = RangeQuery(self.table, "userId", user_id, "timestampSk", index=USER_INDEX)
        spans = spans_of(None, request.start, request.end)
        visible = RoomFilter(self.reader, self.access, None if user_id == caller.subject else caller, now)
        pager = Pager(
            reader=visible,
            cursors=self.cursors,
            query=query,
            rows=rows,
            spans=spans,
            position=("timestampSk", "roomId"),
            effort=USER_BUDGET,
            now=now // times.SECOND,
            item_of=self.item_of,
            sees=visible.sees,
        )
        page = pager.page(request)
        if not page.items and user_id != caller.subject and not self._is_user(user_id, rows):
            allowed = "a user with a message or a membership"
            detail = FieldError("userId", "is not the id of a user", echo(user_id), allowed)
            raise NotFound("there is no such user", details=[detail])
        return page

    def _is_user(self, user_id: str, rows: RangeQuery) -> bool:
        """Whether there is a message of the user, or a membership."""
        return bool(self.reader.read(replace(rows, limit=1)).items) or self.access.is_member_anywhere(user_id)
