"""Reading few attributes of very many rows: columns, not items, for whoever counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Protocol

EXPIRES = "expiresAt"


@dataclass(frozen=True, slots=True)
class ColumnQuery:
    """Rows of one partition of a table, or of its ``index``, in the order of ``sort_attribute``.

    ``lower`` is inclusive, ``upper`` exclusive: no sort key equals an upper bound (``keys.time_bound``).
    ``start`` is the key after which to go on. ``attributes`` hold texts.
    """

    table: str
    index: str | None
    partition_attribute: str
    partition: str
    sort_attribute: str
    lower: str
    upper: str
    attributes: tuple[str, ...]
    start: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Columns:
    """One page: the sort ``keys`` in order, the ``values`` of each attribute beside them, and when each row expires.

    ``expires`` is in epoch seconds, 0 for never. ``more`` is the key to go on after, ``None`` at the end; ``units``
    are the read units that it cost.
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

    def read(self, query: ColumnQuery) -> Columns:
        """The next page, as many rows as the table gives at once.

        Raises:
            headrace.core.errors.StoreUnavailable: the table did not answer in time.
        """
        ...
