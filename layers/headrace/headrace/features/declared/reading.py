"""Reads rows of declared streams from their indexes, whose sort keys end with the key of the event.

Other parts of the platform know one name of the sort key, ``timeSk``. The table has it without the key, and the index
of users has it after the name of the stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from headrace.core.keys import SEPARATOR
from headrace.features.declared.stream import TIME, USER_INDEX
from headrace.storage.reading import ColumnReader, Columns, Query, RangeQuery, RangeReader, Rows

AFTER_KEYS = "$"
"""It follows ``#``: what ends with it follows all keys of an event."""
NO_PART = "-"
"""The part of a position between rows, because no key attribute may be empty."""

Q = TypeVar("Q", bound=Query)


def _of_stream(query: Q, stream: str) -> Q:
    """A query of the index of users, for the rows of one stream."""
    prefix = f"{stream}{SEPARATOR}"
    upper = f"{stream}{AFTER_KEYS}" if query.upper is None else prefix + query.upper
    return replace(query, sort_attribute=USER_INDEX.sort_key, lower=prefix + (query.lower or ""), upper=upper)


@dataclass(frozen=True)
class IndexReader:
    """A :class:`.RangeReader` of the indexes of ``stream``, whose positions are values of ``timeSk``."""

    reader: RangeReader
    stream: str

    def read(self, query: RangeQuery) -> Rows:
        (found,) = self.read_many([query])
        return found

    def read_many(self, queries: Sequence[RangeQuery]) -> Iterable[Rows]:
        for query, rows in zip(queries, self.reader.read_many(list(map(self._own, queries))), strict=True):
            if rows.more is None or query.index != USER_INDEX.name:
                yield rows
            else:
                place = str(rows.more[USER_INDEX.sort_key]).partition(SEPARATOR)[2]
                yield Rows(rows.items, {**rows.more, TIME: place})

    def _own(self, query: RangeQuery) -> RangeQuery:
        own = _of_stream(query, self.stream) if query.index == USER_INDEX.name else query
        if query.start is None:
            return own
        place = str(query.start[query.sort_attribute])
        start = {query.partition_attribute: query.partition, **self._key_at(place)}
        if place.count(SEPARATOR) == 2 and not query.newest_first:
            place += AFTER_KEYS  # a position without the key of its event is before the event
        start[own.sort_attribute] = place if own is query else f"{self.stream}{SEPARATOR}{place}"
        return replace(own, start=start)

    def _key_at(self, place: str) -> Mapping[str, str]:
        """The key of the row at a position, or one between rows."""
        *_, key = parts = place.split(SEPARATOR, 3)
        if len(parts) < 4:
            return {"streamKey": NO_PART, "timestampSk": place or NO_PART}
        return {"streamKey": f"{self.stream}{SEPARATOR}{key}", "timestampSk": SEPARATOR.join(parts[:3])}


@dataclass(frozen=True)
class EventColumns:
    """A :class:`.ColumnReader` of ``stream``, whose keys begin with the time."""

    reader: ColumnReader
    stream: str

    def read(self, query: Query) -> Columns:
        if query.index == USER_INDEX.name:
            found = self.reader.read(_of_stream(query, self.stream))
            return replace(found, keys=[key.partition(SEPARATOR)[2] for key in found.keys])
        if query.index is None:
            return self.reader.read(replace(query, sort_attribute="timestampSk"))
        return self.reader.read(query)
