"""Ports of the tables (whole batches, ranges, columns of many rows), of the cache and of buckets; table breakers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import compress
from typing import Any, Final, Literal, Protocol

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


@dataclass(frozen=True, slots=True)
class Query:
    """Rows of one partition of a table, or of its ``index``, in the order of ``sort_attribute``.

    ``lower`` is inclusive, ``upper`` exclusive: no sort key equals an upper bound (see :mod:`headrace.core.keys`).
    ``start`` is the key after which to continue: all key attributes of table and index. It lies within the bounds, but
    need not be the key of a row. A row comes with its ``attributes`` only, unless none are named.
    """

    table: str
    partition_attribute: str
    partition: str
    sort_attribute: str
    index: str | None = None
    lower: str | None = None
    upper: str | None = None
    start: Mapping[str, Any] | None = None
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RangeQuery(Query):
    """A query that reads at most ``limit`` rows.

    Of these, rows whose ``expiresAt`` (epoch seconds) is not above ``unexpired_at`` are left out.
    """

    newest_first: bool = True
    limit: int = 20
    consistent: bool = False
    unexpired_at: int | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """``items`` in the order of the query; ``more`` is the key to continue after, ``None`` at the end of the range."""

    items: list[dict[str, Any]]
    more: Mapping[str, str] | None


class RangeReader(Protocol):
    """Reads ranges of partitions. Every method may raise StoreUnavailable."""

    def read(self, query: RangeQuery) -> Rows:
        """Up to ``query.limit`` rows."""

    def read_many(self, queries: Sequence[RangeQuery]) -> Iterable[Rows]:
        """The result of :meth:`read` for each of ``queries``, once and in order; they are read at the same time."""


EXPIRES = "expiresAt"


@dataclass(frozen=True, slots=True)
class Columns:
    """One page: the sort ``keys`` in order, the ``values`` of each attribute in the same order, and when rows expire.

    ``expires`` is in epoch seconds, 0 for never. ``more`` is the key to continue after, ``None`` at the end; ``units``
    are the read units that the page cost.
    """

    keys: list[str]
    values: dict[str, list[str]]
    expires: list[int]
    more: Mapping[str, Any] | None
    units: float

    def only(self, keep: Sequence[bool]) -> Columns:
        """The rows at which ``keep`` is true."""
        return Columns(
            list(compress(self.keys, keep)),
            {name: list(compress(column, keep)) for name, column in self.values.items()},
            list(compress(self.expires, keep)),
            self.more,
            self.units,
        )


class ColumnReader(Protocol):
    """Reads pages of columns."""

    def read(self, query: Query) -> Columns:
        """The next page, as many rows as the table gives at once. Raises StoreUnavailable."""


class Objects(Protocol):
    """Objects by name. Every method may raise StoreUnavailable."""

    def names(self, prefix: str) -> Iterator[str]:
        """All names that begin with ``prefix``, in their order."""

    def dated_names(self, prefix: str, after: str = "") -> Iterator[tuple[str, datetime]]:
        """As :meth:`names`, those that follow ``after``, with the time at which each object was written."""

    def read(self, name: str) -> bytes:
        """An object that exists."""

    def write(self, name: str, body: bytes) -> None:
        """Write an object, also over another one."""

    def delete(self, name: str) -> None:
        """Delete an object, if it exists."""

    def link(self, name: str, shown: str, seconds: int, *, is_inline: bool = False) -> str:
        """A link that anybody can open for so many seconds.

        Browsers save the object as ``shown``, or show it with ``is_inline``.
        """

    def lock(self, name: str, seconds: int) -> bool:
        """Make an object that is not there, or is older than ``seconds``. Of concurrent callers one succeeds."""


Command = tuple[Any, ...]


class Cache(Protocol):
    """Bytes by key. Every method may raise :class:`~headrace.core.errors.CacheUnavailable`."""

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """One value per key, in order; ``None`` where there is none."""

    def set_many(self, entries: Mapping[str, tuple[bytes, float]]) -> None:
        """Store each value for its seconds."""

    def add_many(self, entries: Mapping[str, tuple[bytes, float]]) -> list[bool]:
        """Store each value for its seconds, only if its key has no value. Returns which were stored, in order.

        Of several concurrent callers one succeeds.
        """


class Commands(Protocol):
    """Runs commands of Redis, for data structures and scripts that :class:`Cache` does not cover.

    Raises :class:`~headrace.core.errors.CacheUnavailable`.
    """

    def run(self, commands: Sequence[Command]) -> list[Any]:
        """The results of ``commands``, in order. Each is on one key; they are sent in one round trip."""
