"""History of clicks: pages of an ad's or a user's clicks, by time and then by id, newest first.

Pages have the cursors and parameters of chat's history. They are read from indexes, which may lag behind the table by
milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headrace.api.paging.cursors import CursorSigner, Query
from headrace.api.paging.pager import Page, Pager
from headrace.api.paging.range_walk import ReadBudget, spans_of
from headrace.api.paging.request import PageRequest
from headrace.core import times
from headrace.core.caller import ANALYTICS_READ, Caller
from headrace.core.errors import FieldError, NotFound, echo
from headrace.core.keys import SEPARATOR, parse_timestamp_sk
from headrace.core.stream import Index
from headrace.storage.merged_reader import MergedReader
from headrace.storage.ports import RangeQuery, RangeReader
from headrace.streams.ads.stream import AD_INDEX, USER_INDEX

ITEM_FIELDS = ("adId", "userId", "adType")
NO_PART = "-"
"""The id or sender of a position between clicks, because no key attribute may be empty."""
BUDGET = ReadBudget(reads=64, rows=1000)
"""Reads that a page may spend on expired rows which are not deleted yet; ``has_more`` is exact unless it needs more."""


def item_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The item that clients see of a row; it has no hash of an address."""
    key = parse_timestamp_sk(row["timestampSk"])
    item = {"key": row["timestampSk"], "clickId": key.message_id, "clickedAt": key.timestamp}
    return item | {name: row[name] for name in ITEM_FIELDS}


def start_key(position: str) -> Mapping[str, str]:
    """The key attributes of a click at ``position``, a ``timestampSk`` or a position between two of them."""
    _, click_id, sender = [*position.split(SEPARATOR), "", ""][:3]
    return {"timestampSk": position, "clickId": click_id or NO_PART, "sender": sender or NO_PART}


class ClickHistory:
    """Reads pages of clicks. Clicks whose ``expiresAt`` has passed are never shown."""

    def __init__(self, reader: RangeReader, cursors: CursorSigner, table: str, clock: times.Clock) -> None:
        self._reader = reader
        self._cursors = cursors
        self._table = table
        self._clock = clock

    def ad(self, caller: Caller, ad_id: str, request: PageRequest) -> Page:
        """A page of the clicks on one ad; ``has_more`` is exact.

        Raises:
            NotFound: the ad has no click.
            InvalidRequest: a cursor or a key that is not one of this query. StoreUnavailable.
        """
        page = self._page(caller, AD_INDEX, ad_id, request)
        if not page.items:
            self.require_ad(ad_id)
        return page

    def require_ad(self, ad_id: str) -> None:
        """Read whether an ad has any click.

        Raises:
            NotFound: it has none. StoreUnavailable.
        """
        reader, rows = self._partition(AD_INDEX, ad_id)
        if not reader.read(replace(rows, limit=1)).items:
            detail = FieldError("adId", "is not the id of an ad", echo(ad_id), "an ad with a click")
            raise NotFound("there is no such ad", details=[detail])

    def user(self, caller: Caller, user_id: str, request: PageRequest) -> Page:
        """A page of one user's clicks. Clicks of another user need ``analytics:read``.

        Raises:
            Forbidden: ``user_id`` is another user, and the scope is missing.
            InvalidRequest: a cursor or a key that is not one of this query. StoreUnavailable.
        """
        if user_id != caller.subject:
            caller.require(ANALYTICS_READ, now=self._clock.now())
        return self._page(caller, USER_INDEX, user_id, request)

    def _page(self, caller: Caller, index: Index, value: str, request: PageRequest) -> Page:
        kind = f"clicks.{index.name}"
        request = request.resolved(self._cursors, Query(kind, value, caller.subject))
        query = Query(kind, value, caller.subject, request.start, request.end)
        reader, rows = self._partition(index, value)
        spans = spans_of(None, request.start, request.end)
        pager = Pager(
            reader=reader,
            cursors=self._cursors,
            query=query,
            rows=rows,
            spans=spans,
            position=(index.sort_key,),
            effort=BUDGET,
            now=self._clock.now() // times.SECOND,
            item_of=item_of,
        )
        return pager.page(request)

    def _partition(self, index: Index, value: str) -> tuple[RangeReader, RangeQuery]:
        rows = RangeQuery(self._table, index.partition_key, value, index.sort_key, index=index.name)
        return MergedReader(self._reader, index.partitions, start_key), rows
