"""A store in memory, for tests: behaves as DynamoDB does, and fails on demand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from headrace.core.errors import PoisonRecord, StoreThrottled, StoreUnavailable
from headrace.core.items import Item, check
from headrace.store.base import Failure, Key, Table, one_of_each


class MemoryStore:
    """``tables`` maps a name to rows by key. ``down``: nothing is stored. ``throttled`` picks rows not taken."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[Key, Item]] = defaultdict(dict)
        self.down = False
        self.throttled: Callable[[Item], bool] = lambda _item: False
        self.writes = 0

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Failure | None]:
        """One outcome per item, in order."""
        rows, keys = one_of_each(table, items)
        outcomes = {key: self._put(table, key, row) for key, row in rows.items()}
        return [outcomes[key] for key in keys]

    def _put(self, table: Table, key: Key, row: Item) -> Failure | None:
        if self.down:
            return StoreUnavailable("the table is away")
        if self.throttled(row):
            return StoreThrottled("the table takes less than it is given")
        try:
            check(row, *table.key)
        except PoisonRecord as error:
            return PoisonRecord("refused_by_store", error.message)
        if not (table.keeps_first and key in self.tables[table.name]):
            self.tables[table.name][key] = row
            self.writes += 1
        return None

    def rows(self, table: str) -> list[Item]:
        """All rows of a table, in key order."""
        return [row for _, row in sorted(self.tables[table].items(), key=lambda pair: pair[0])]
