"""Ports for reading tables: ranges of a partition, and columns of many rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Protocol


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
