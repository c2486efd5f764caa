"""The port of the tables that take whole batches, with breakers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from headrace.core.errors import PoisonRecord, StoreThrottled, StoreUnavailable
from headrace.core.items import Item
from headrace.runtime.breaker import Breaker, BreakerRule

Failure = StoreUnavailable | PoisonRecord
Key = tuple[object, ...]


EXISTS: Final = "exists"
"""The outcome of an item whose key has a row already."""
Outcome = Failure | Literal["exists"] | None


@dataclass(frozen=True, slots=True)
class Table:
    """A table's name and the names of its key's attributes."""

    name: str
    key: tuple[str, ...]

    def key_of(self, item: Item) -> Key:
        """The key of ``item``."""
        return tuple(item[name] for name in self.key)


class Store(Protocol):
    """Puts rows. A row that is there is never replaced."""

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Outcome]:
        """One outcome per item, in order: ``None`` when its row is stored, EXISTS when another one stays.

        Items with equal keys are one row: the first of them is written, and the others exist then. Throttled items are
        tried again for a bounded time. A PoisonRecord is an item that the table itself refuses. Never raises for what
        the table or the network does.
        """


def one_of_each(table: Table, items: Sequence[Item]) -> tuple[dict[Key, Item], list[Key]]:
    """The rows that result from ``items`` (the first of equal keys), and the key of every item."""
    keys = [table.key_of(item) for item in items]
    rows: dict[Key, Item] = {}
    for key, item in zip(keys, items, strict=True):
        rows.setdefault(key, item)
    return rows, keys


class GuardedStore:
    """A :class:`Store` with a circuit breaker for each table: while a table is unavailable, a put is refused at once.

    A put counts as failed when the table answered for none of its items. Throttled items are not failures: the table is
    available, and an open breaker would also send the items that it still accepts to the retry lane. Items that the
    table refuses as invalid are not failures either.
    """

    def __init__(self, store: Store, rule: BreakerRule) -> None:
        self._store = store
        self._rule = rule
        self._breakers: dict[str, Breaker[list[Outcome]]] = {}

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Outcome]:
        if not items:
            return []
        outcomes = self.breaker(table.name).call(lambda: self._store.put_many(table, items))
        return outcomes or [StoreUnavailable("the table was unavailable a moment ago")] * len(items)

    def breaker(self, table: str) -> Breaker[list[Outcome]]:
        """The breaker of one table."""
        if table not in self._breakers:
            self._breakers[table] = Breaker(f"table {table}", self._rule, _is_unavailable)
        return self._breakers[table]


def _is_unavailable(outcomes: Sequence[Outcome]) -> bool:
    return all(isinstance(each, StoreUnavailable) and not isinstance(each, StoreThrottled) for each in outcomes)
