"""Columns from rows in memory: for tests and models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.readers.columns import EXPIRES, ColumnQuery, Columns


class MemoryColumns:
    """Reads what ``rows(table, index)`` gives now, ``page`` rows at a time.

    ``reads`` counts pages; ``failing`` is raised instead of reading.
    """

    def __init__(self, rows: Callable[[str, str | None], Iterable[dict[str, Any]]], page: int = 1000) -> None:
        self._rows = rows
        self._page = page
        self.reads = 0
        self.failing: Exception | None = None

    def read(self, query: ColumnQuery) -> Columns:
        """The next page."""
        if self.failing is not None:
            raise self.failing
        self.reads += 1
        after = query.start["after"] if query.start is not None else ("",)
        found = sorted(
            ((row[query.sort_attribute], row[query.partition_attribute], str(sorted(row.items()))), row)
            for row in self._rows(query.table, query.index)
            if row.get(query.partition_attribute) == query.partition
            and query.lower <= row[query.sort_attribute] < query.upper
        )
        found = [(order, row) for order, row in found if order > after]
        page = [row for _, row in found[: self._page]]
        return Columns(
            [row[query.sort_attribute] for row in page],
            {name: [row[name] for row in page] for name in query.attributes},
            [row.get(EXPIRES, 0) for row in page],
            {"after": found[self._page - 1][0]} if len(found) > self._page else None,
            0.5,
        )
