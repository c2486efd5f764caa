"""Reads the pages of one query: where a page starts, its items, and the cursors to the pages on both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.api.paging.cursors import CursorSigner, Query
from headrace.api.paging.range_walk import ReadBudget, Sees, Span, ranges, read_page, spans_of
from headrace.api.paging.request import PageRequest
from headrace.core import keys, times
from headrace.core.errors import FieldError, InvalidRequest, echo
from headrace.core.json import encode, encoded_list
from headrace.storage.reading import RangeQuery, RangeReader, Rows

if TYPE_CHECKING:
    from headrace.api.router import Request

BEFORE, AFTER, AROUND = "before", "after", "around"
START = "0"
"""A position before every message: times begin with a year."""
ANYWHERE = "-"
"""The room id in a position at which there is no message."""

PLAIN_BUDGET = ReadBudget(reads=64, rows=1000)
"""Reads that a page may spend on expired rows which are not deleted yet; ``has_more`` is exact unless it needs more."""

Position = Sequence[str]


@dataclass(frozen=True, slots=True)
class Page:
    """A page as clients see it: ``next`` leads to older items, ``previous`` to newer ones.

    ``items``, newest first, are JSON: an item is encoded once, and stays so in the page and in the cache. Pages of a
    room have a ``position`` (:mod:`headrace.streams.chat.messages.positions`).
    """

    items: Sequence[str]
    next: str | None
    previous: str | None
    has_more: bool
    position: str | None = None

    def to_body(self) -> dict[str, Any]:
        """The fields of the answer."""
        body = {
            "items": encoded_list(self.items),
            "next": self.next,
            "previous": self.previous,
            "hasMore": self.has_more,
        }
        return body if self.position is None else {**body, "position": self.position}


def cut(items: Sequence[str], room: int) -> int:
    """How many of the first ``items`` fit into ``room`` bytes of UTF-8; at least one."""
    for count, item in enumerate(items):
        room -= len(item.encode())
        if room < 0:
            return max(count, 1)
    return len(items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pager:
    """Pages over ``spans`` of the partition that ``rows`` names.

    ``position`` are the attributes that order the rows; the sort key is the first. ``item_of`` makes the item that
    clients see from a row. ``now`` is in seconds.
    """

    reader: RangeReader
    cursors: CursorSigner
    query: Query
    rows: RangeQuery
    spans: Sequence[Span]
    position: tuple[str, ...]
    effort: ReadBudget
    now: int
    item_of: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    sees: Sees | None = None

    def page(self, request: PageRequest) -> Page:
        """The page that ``request`` selects.

        Raises:
            InvalidRequest: a cursor or message key that is not valid for this query.
            headrace.core.errors.StoreUnavailable: the table did not answer.
        """
        if request.around is not None:
            return self._around(self._middle(request.around), request)
        newest_first = request.after is None
        field, given = (BEFORE, request.before) if newest_first else (AFTER, request.after)
        place = self._place(field, given) if given is not None else None
        found = self._found(place, newest_first, request.limit)
        return self._one_way(found, self._items(found.items), newest_first, request, place)

    def newest(self, limit: int) -> tuple[Rows, list[str]]:
        """The newest ``limit`` rows, and their items."""
        found = self._found(None, True, limit)
        return found, self._items(found.items)

    def newest_page(self, found: Rows, items: list[str], request: PageRequest) -> Page:
        """The newest page, from rows that are known: from :meth:`newest`, or from the cache. There may be too many."""
        if len(items) > request.limit:
            found, items = Rows(found.items[: request.limit], found.items[request.limit - 1]), items[: request.limit]
        return self._one_way(found, items, True, request, None)

    def _items(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        return [encode(self.item_of(row)) for row in rows]

    def _found(self, place: Position | None, newest_first: bool, limit: int) -> Rows:
        started = dict(zip(self.position, place, strict=True)) if place else None
        queries = ranges(self.rows, self.spans, started, newest_first)
        return read_page(self.reader, queries, limit, self.now, self.effort, self.sees)

    def _one_way(
        self, found: Rows, items: list[str], newest_first: bool, request: PageRequest, place: Position | None
    ) -> Page:
        """The page of rows that were read in one direction.

        A page with items has a cursor back. A cursor ahead exists only while there is more, except towards newer
        messages: ``previous`` always continues after the newest one read, because more may be sent later. On an empty
        page, unless reading stopped early, nothing is ahead: both cursors together lead to everything that is there.
        """
        count = cut(items, request.max_bytes)
        if count < len(items):
            items, found = items[:count], Rows(found.items[:count], found.items[count - 1])
        ahead_at = self._position_of(found.more) if found.more is not None else None
        if newest_first:
            older = self._sign(BEFORE, ahead_at) if ahead_at else None
            newer_than = self._position_of(found.items[0]) if items else (None if ahead_at else self._beside(START))
            newer = self._sign(AFTER, newer_than) if newer_than else None
            return Page(items, older, newer, ahead_at is not None)
        older_than = self._position_of(found.items[0]) if items else _just_after(place)
        older = self._sign(BEFORE, older_than) if older_than else None
        on = ahead_at or (self._position_of(found.items[-1]) if items else place)
        return Page(items[::-1], older, self._sign(AFTER, on) if on else None, ahead_at is not None)

    def _around(self, middle: Position, request: PageRequest) -> Page:
        """A page around ``middle``, half of it from each side if both have enough; ``has_more`` is for either side."""
        older = self._found(middle, True, request.limit)
        newer = self._found(middle, False, request.limit)
        after = min(len(newer.items), request.limit // 2)
        before = min(len(older.items), request.limit - after)
        after = min(len(newer.items), request.limit - before)
        down, up = self._items(older.items[:before]), self._items(newer.items[:after])
        before, after = cut(down, request.max_bytes // 2), cut(up, request.max_bytes // 2)
        items = [*up[:after][::-1], *down[:before]]
        older_at = older.items[before - 1] if before < len(older.items) else older.more
        newer_at: Mapping[str, Any] | None = newer.more if after == len(newer.items) else None
        more = older_at is not None or newer_at is not None or after < len(newer.items)
        top = newer.items[after - 1] if after else (older.items[0] if before else None)
        on = newer_at or top
        return Page(
            items,
            self._sign(BEFORE, self._position_of(older_at)) if older_at is not None else None,
            self._sign(AFTER, self._position_of(on) if on is not None else middle),
            more,
        )

    def _place(self, field: str, given: str) -> Position:
        """The position to start after: that of a cursor or, for a message key, that of the message."""
        if keys.SEPARATOR not in given:
            return self.cursors.verify(given, self.query, field, parts=len(self.position))
        key = _message_key(field, given)
        if key.sender_tag is not None and len(self.position) == 1:
            return (keys.timestamp_sk(key.timestamp, key.message_id, key.sender_tag),)
        at = keys.before_message if field == BEFORE else keys.after_message
        return self._beside(at(key.timestamp, key.message_id))

    def _middle(self, given: str) -> Position:
        """The position just after the cursor or message key in ``around``."""
        if keys.SEPARATOR in given:
            key = _message_key(AROUND, given)
            if key.sender_tag is not None:
                exact = keys.timestamp_sk(key.timestamp, key.message_id, key.sender_tag)
                return self._beside(keys.after_position(exact))
            return self._beside(keys.after_message(key.timestamp, key.message_id))
        place = self.cursors.verify(given, self.query, AROUND, parts=len(self.position), directions=(BEFORE, AFTER))
        return _just_after(place) or place

    def _beside(self, sort_key: str) -> Position:
        """The position at ``sort_key``, where there is no message."""
        return (sort_key, *[ANYWHERE] * (len(self.position) - 1))

    def _position_of(self, row: Mapping[str, Any]) -> Position:
        return [row[name] for name in self.position]

    def _sign(self, direction: str, position: Position) -> str:
        return self.cursors.sign(self.query, direction, position)


def plain_page(
    request: Request[Any, Any, Any],
    asked: PageRequest,
    signer: CursorSigner,
    kind: str,
    reader: RangeReader,
    rows: RangeQuery,
    item_of: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> Page:
    """The page of ``rows`` that a request ``asked`` for, in the order of their sort key, without expired rows.

    Cursors are good for this ``kind`` of list, the value of its partition, and this caller. Raises as :meth:`.page`.
    """
    query = Query(kind, rows.partition, request.caller.subject)
    asked = asked.resolved(signer, query)
    pager = Pager(
        reader=reader,
        cursors=signer,
        query=replace(query, lower=asked.start, upper=asked.end),
        rows=rows,
        spans=spans_of(None, asked.start, asked.end),
        position=(rows.sort_attribute,),
        effort=PLAIN_BUDGET,
        now=request.now // times.SECOND,
        item_of=item_of,
    )
    return pager.page(asked)


def _just_after(place: Position | None) -> Position | None:
    """The position before which ``place`` itself is; ``None`` at the start, before which nothing is."""
    return (keys.after_position(place[0]), *place[1:]) if place and place[0] != START else None


def _message_key(field: str, given: str) -> keys.MessageKey:
    try:
        return keys.parse_message_key(given)
    except ValueError:
        allowed = f"a cursor, or {keys.MESSAGE_KEY_FORM}"
        detail = FieldError(field, "is not a message key", echo(given), allowed)
        raise InvalidRequest(f"{field} names no message", details=[detail]) from None
