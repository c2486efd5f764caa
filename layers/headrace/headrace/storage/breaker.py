"""Puts a circuit breaker around each table: while a table is unavailable, a put is refused in microseconds.

A put counts as failed when the table answered for none of its items. Throttled items are not failures: the table is
available, and an open breaker would also send the items that it still accepts to the retry lane. Items that the table
refuses as invalid are not failures either.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from headrace.core.errors import StoreThrottled, StoreUnavailable
from headrace.core.items import Item
from headrace.runtime.breaker import Breaker, BreakerRule, OnState
from headrace.storage.ports import Failure, Store, Table

TableBreaker = Breaker[list[Failure | None]]


class GuardedStore:
    """A :class:`~headrace.storage.ports.Store` that fails at once while the table's breaker is open."""

    def __init__(
        self,
        store: Store,
        rule: BreakerRule,
        on_state: OnState | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._rule = rule
        self._on_state = on_state
        self._monotonic = monotonic
        self._breakers: dict[str, TableBreaker] = {}

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Failure | None]:
        if not items:
            return []
        outcomes = self.breaker(table.name).call(lambda: self._store.put_many(table, items))
        return outcomes or [StoreUnavailable("the table was unavailable a moment ago")] * len(items)

    def breaker(self, table: str) -> TableBreaker:
        """The breaker of one table."""
        if table not in self._breakers:
            made: TableBreaker = Breaker(f"table {table}", self._rule, is_unavailable, self._on_state, self._monotonic)
            self._breakers.setdefault(table, made)
        return self._breakers[table]


def is_unavailable(outcomes: Sequence[Failure | None]) -> bool:
    """Whether the table answered for none of the items."""
    return all(isinstance(each, StoreUnavailable) and not isinstance(each, StoreThrottled) for each in outcomes)
