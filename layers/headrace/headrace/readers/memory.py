"""Ranges over rows in memory: for tests and models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.readers.base import RangeQuery, Rows


class MemoryReader:
    """Reads what ``rows(table)`` gives; indexes need no upkeep, and never lag.

    ``keys`` are the table's own key attributes; an index's order is its sort attribute, then these.
    """

    def __init__(
        self, rows: Callable[[str], Iterable[dict[str, Any]]], keys: tuple[str, str] = ("roomId", "timestampSk")
    ) -> None:
        self._rows = rows
        self._keys = keys

    def read(self, query: RangeQuery) -> Rows:
        """Up to ``query.limit`` rows."""

        def order(row: Any) -> tuple[str, ...]:
            return (row[query.sort_attribute], *(row[key] for key in self._keys))

        found = sorted(
            (
                row
                for row in self._rows(query.table)
                if row.get(query.partition_attribute) == query.partition
                and (query.lower is None or row[query.sort_attribute] >= query.lower)
                and (query.upper is None or row[query.sort_attribute] < query.upper)
            ),
            key=order,
            reverse=query.newest_first,
        )
        if query.start is not None:
            start = order(query.start)
            found = [row for row in found if (order(row) < start if query.newest_first else order(row) > start)]
        page = found[: query.limit]
        names = {query.partition_attribute, query.sort_attribute, *self._keys}
        more = {name: page[-1][name] for name in names} if len(found) > len(page) and page else None
        at = query.unexpired_at
        alive = [row for row in page if at is None or row.get("expiresAt", at + 1) > at]
        return Rows([{name: row[name] for name in query.attributes or row if name in row} for row in alive], more)

    def read_many(self, queries: Sequence[RangeQuery]) -> list[Rows]:
        """What :meth:`read` gives for each."""
        return [self.read(query) for query in queries]
