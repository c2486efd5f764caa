"""The seam between history and the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """Rows of one partition of a table, or of its ``index``, in the order of ``sort_attribute``.

    ``lower`` is inclusive, ``upper`` exclusive: no sort key equals an upper bound (``keys.time_bound``).
    ``start`` is the key after which to go on: all key attributes of table and index; it lies within the bounds, but
    need not be the key of a row. ``limit`` counts rows read; of these, rows whose ``expiresAt`` (epoch seconds) is not
    above ``unexpired_at`` are left out. A row comes with its ``attributes`` only, unless none are named.
    """

    table: str
    partition_attribute: str
    partition: str
    sort_attribute: str
    index: str | None = None
    lower: str | None = None
    upper: str | None = None
    start: Mapping[str, str] | None = None
    newest_first: bool = True
    limit: int = 20
    consistent: bool = False
    unexpired_at: int | None = None
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """``items`` in the order asked for; ``more`` is the key to go on after, ``None`` at the end of the range."""

    items: list[dict[str, Any]]
    more: Mapping[str, str] | None


class RangeReader(Protocol):
    """Reads ranges."""

    def read(self, query: RangeQuery) -> Rows:
        """Up to ``query.limit`` rows.

        Raises:
            headrace.core.errors.StoreUnavailable: the table did not answer in time.
        """
        ...

    def read_many(self, queries: Sequence[RangeQuery]) -> list[Rows]:
        """What :meth:`read` gives for each of ``queries``, in order; they are read at the same time.

        Raises:
            headrace.core.errors.StoreUnavailable: the table did not answer one of them in time.
        """
        ...
