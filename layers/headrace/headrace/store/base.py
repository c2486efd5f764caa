"""What a store promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from headrace.core.errors import PoisonRecord, StoreUnavailable
from headrace.core.items import Item

Failure = StoreUnavailable | PoisonRecord
Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table's name and the names of its key's attributes.

    With ``keeps_first`` a row that is there stays as it is: what is put under its key counts as stored.
    """

    name: str
    key: tuple[str, ...]
    keeps_first: bool = False

    def key_of(self, item: Item) -> Key:
        """The key of ``item``."""
        return tuple(item[name] for name in self.key)


class Store(Protocol):
    """Puts rows. Putting the same row again changes nothing."""

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Failure | None]:
        """One outcome per item, in order: ``None`` when its row is stored.

        Items with equal keys are one row: the last of them is written (the first, where the table keeps that), and all
        of them have its outcome. Throttled
        items are tried again for a bounded time. A PoisonRecord is an item that the table itself refuses. Never
        raises for what the table or the network does.
        """
        ...


def one_of_each(table: Table, items: Sequence[Item]) -> tuple[dict[Key, Item], list[Key]]:
    """The rows that ``items`` come to (the last of equal keys, or the first), and the key of every item."""
    keys = [table.key_of(item) for item in items]
    pairs = zip(keys, items, strict=True)
    return dict(reversed(list(pairs)) if table.keeps_first else pairs), keys
