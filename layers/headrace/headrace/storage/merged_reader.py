"""Reads the rows of a value that an index spreads over several partitions as if they were in one partition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.storage.reading import RangeQuery, RangeReader, Rows


@dataclass(frozen=True)
class MergedReader:
    """A :class:`~headrace.storage.reading.RangeReader` over ``partitions(value)`` of the value that a query names.

    Sort keys are unique, so a position is a sort key alone. A query's ``start`` and the ``more`` of a result contain
    only that; ``start_key`` completes it to the attributes of a key. All partitions are read at the same time, each for
    ``share(limit, partitions)`` rows. By default that is the whole limit, because all of the first rows may be in one
    of them; with a smaller share, a result with ``more`` may be short.
    """

    reader: RangeReader
    partitions: Callable[[str], Sequence[str]]
    start_key: Callable[[str], Mapping[str, str]]
    share: Callable[[int, int], int] = lambda limit, _: limit

    def read(self, query: RangeQuery) -> Rows:
        return self.read_many([query])[0]

    def read_many(self, queries: Sequence[RangeQuery]) -> list[Rows]:
        parts = [self._parts(query) for query in queries]
        found = iter(self.reader.read_many([part for each in parts for part in each]))
        return [merged(query, [next(found) for _ in each]) for query, each in zip(queries, parts, strict=True)]

    def _parts(self, query: RangeQuery) -> list[RangeQuery]:
        place = self.start_key(query.start[query.sort_attribute]) if query.start is not None else None
        partitions = self.partitions(query.partition)
        limit = self.share(query.limit, len(partitions))
        return [
            replace(
                query,
                partition=partition,
                limit=limit,
                start={query.partition_attribute: partition, **place} if place is not None else None,
            )
            for partition in partitions
        ]


def merged(query: RangeQuery, parts: Sequence[Rows]) -> Rows:
    """The first rows of all ``parts``, up to the position that all of them have been read to.

    A part with ``more`` was read up to that key. Rows of other parts beyond it are left for the next read.
    """
    name, newest_first = query.sort_attribute, query.newest_first

    def key(row: Mapping[str, Any]) -> str:
        return str(row[name])

    stops = [part.more for part in parts if part.more is not None]
    nearest = (max if newest_first else min)(stops, key=key) if stops else None
    rows = sorted((row for part in parts for row in part.items), key=key, reverse=newest_first)
    if nearest is not None:
        bound = key(nearest)
        rows = [row for row in rows if (key(row) >= bound if newest_first else key(row) <= bound)]
    if len(rows) > query.limit:
        rows = rows[: query.limit]
        nearest = rows[-1]
    return Rows(rows, {name: key(nearest)} if nearest is not None else None)
