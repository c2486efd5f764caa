"""History: pages of a room's messages, and of a user's, newest first, in (time, id) order.

A page says ``items``, ``next``, ``previous`` and ``hasMore``. ``next`` goes into ``before`` and leads to older
messages, ``previous`` into ``after`` and leads to newer ones. ``hasMore`` speaks of the direction that was walked.
Fewer items than ``limit`` does not mean the end; ``hasMore`` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace import times
from headrace.auth import CHAT_READ, Caller
from headrace.cursors import CursorSigner, Query
from headrace.errors import FieldError, InvalidRequest, shown
from headrace.keys import ID_FORM, normalize_id, time_bound
from headrace.readers import RangeQuery, RangeReader, Rows

DEFAULT_LIMIT = 20
LIMIT = 200
READS_PER_PAGE = 4
"""Queries one page may cost: only rows that have expired, but are not yet deleted, make it more than one."""

PARAMETERS = ("limit", "before", "after", "from", "to")
ITEM_FIELDS = ("roomId", "messageId", "timestamp", "userId", "username", "message", "messageType")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """``start`` (inclusive) and ``end`` (exclusive) are canonical times; at most one of the cursors is set."""

    limit: int = DEFAULT_LIMIT
    before: str | None = None
    after: str | None = None
    start: str | None = None
    end: str | None = None


def parse_page_request(query: Mapping[str, str] | None) -> PageRequest:
    """The page that a query string asks for.

    Raises:
        InvalidRequest: names every parameter that is wrong, what came, and what is allowed.
    """
    given = dict(query or {})
    wrong = [
        FieldError(shown_name(name), "is not a parameter of this route", shown(given[name]), ", ".join(PARAMETERS))
        for name in given
        if name not in PARAMETERS
    ]
    limit = given.get("limit", str(DEFAULT_LIMIT))
    if not (limit.isascii() and limit.isdigit() and 0 < int(limit[:9]) <= LIMIT):
        wrong.append(FieldError("limit", "is out of range", shown(limit), f"a whole number from 1 to {LIMIT}"))
    bounds: dict[str, str | None] = {"from": None, "to": None}
    for name in bounds:
        if name in given:
            try:
                bounds[name] = times.parse_query(given[name])
            except ValueError:
                wrong.append(FieldError(name, "is not a time", shown(given[name]), times.ACCEPTED_FORM))
    if "before" in given and "after" in given:
        wrong.append(FieldError("after", "cannot stand beside before", None, "one of before and after"))
    if bounds["from"] is not None and bounds["to"] is not None and bounds["from"] > bounds["to"]:
        wrong.append(FieldError("to", "is before from", shown(given["to"]), "a time not before from"))
    if wrong:
        raise InvalidRequest("the query cannot be answered as it stands", details=wrong)
    return PageRequest(int(limit), given.get("before"), given.get("after"), bounds["from"], bounds["to"])


def shown_name(name: str) -> str:
    """A parameter's name as it may be sent back."""
    return str(shown(name))


def path_id(field: str, value: str | None) -> str:
    """An id from a path, normalized.

    Raises:
        InvalidRequest: names the field and what is allowed.
    """
    try:
        return normalize_id(value or "")
    except ValueError as error:
        detail = FieldError(field, str(error), shown(value), ID_FORM)
        raise InvalidRequest(f"{field} is not a usable id", details=[detail]) from None


class History:
    """Answers pages of history for one caller at a time.

    ``table`` is the messages' table; rows whose ``expiresAt`` has passed are never shown.
    """

    def __init__(self, reader: RangeReader, cursors: CursorSigner, table: str, clock: times.Clock) -> None:
        self._reader = reader
        self._cursors = cursors
        self._table = table
        self._clock = clock

    def room_page(self, caller: Caller, room_id: str, request: PageRequest) -> dict[str, Any]:
        """A page of one room. What was stored before the read began is in it: the read is consistent.

        Raises:
            Forbidden, TokenExpired: the caller may not read; InvalidCursor; StoreUnavailable.
        """
        query = Query("room", room_id, caller.subject, request.start, request.end)
        rows = RangeQuery(self._table, "roomId", room_id, "timestampSk", consistent=True)
        return self._page(caller, query, rows, request, ("timestampSk",))

    def user_page(self, caller: Caller, user_id: str, request: PageRequest) -> dict[str, Any]:
        """A page of what one user said, in all rooms that the caller may read. The index may lag by some ms.

        Raises:
            Forbidden, TokenExpired: the caller may not read; InvalidCursor; StoreUnavailable.
        """
        query = Query("user", user_id, caller.subject, request.start, request.end)
        rows = RangeQuery(self._table, "userId", user_id, "timestampSk", index="UserIndex")
        return self._page(caller, query, rows, request, ("timestampSk", "roomId"))

    def _page(
        self, caller: Caller, query: Query, rows: RangeQuery, request: PageRequest, position: tuple[str, ...]
    ) -> dict[str, Any]:
        now = self._clock.now()
        caller.require(CHAT_READ, now=now)
        newest_first = request.after is None
        start: dict[str, str] | None = None
        given, direction = (request.before, "before") if newest_first else (request.after, "after")
        if given is not None:
            values = self._cursors.verify(given, query, direction, parts=len(position))
            start = {rows.partition_attribute: rows.partition, **dict(zip(position, values, strict=True))}
        ranged = replace(
            rows,
            lower=time_bound(request.start) if request.start else None,
            upper=time_bound(request.end) if request.end else None,
            start=start,
            newest_first=newest_first,
        )
        found = self._fill(ranged, request.limit, now // times.SECOND)
        items = found.items if newest_first else found.items[::-1]
        older, newer = self._ends(query, position, items, found, newest_first, request)
        return {
            "items": [{name: row[name] for name in ITEM_FIELDS if name in row} for row in items],
            "next": older,
            "previous": newer,
            "hasMore": found.more is not None,
        }

    def _fill(self, query: RangeQuery, limit: int, now: int) -> Rows:
        """Up to ``limit`` rows that have not expired; ``more`` only if there is another one, or reads ran out."""
        items: list[dict[str, Any]] = []
        for _ in range(READS_PER_PAGE):
            rows = self._reader.read(replace(query, limit=limit + 1 - len(items)))
            items += [row for row in rows.items if row.get("expiresAt", now + 1) > now]
            if len(items) > limit:
                return Rows(items[:limit], items[limit - 1])
            if rows.more is None:
                return Rows(items, None)
            query = replace(query, start=rows.more)
        return Rows(items, query.start)

    def _ends(
        self,
        query: Query,
        position: tuple[str, ...],
        items: list[dict[str, Any]],
        found: Rows,
        newest_first: bool,
        request: PageRequest,
    ) -> tuple[str | None, str | None]:
        """The cursors to older and newer messages.

        The way back is open wherever there are items; the way ahead only while there is more, except towards newer
        messages: those may still come, so ``previous`` always leads on from the newest one seen.
        """

        def sign(direction: str, row: Mapping[str, Any]) -> str:
            return self._cursors.sign(query, direction, [row[name] for name in position])

        if newest_first:
            older = sign("before", found.more) if found.more is not None else None
            newer = sign("after", items[0]) if items else None
            return older, newer
        older = sign("before", items[-1]) if items else None
        ahead = found.more if found.more is not None else (items[0] if items else None)
        return older, sign("after", ahead) if ahead is not None else request.after
