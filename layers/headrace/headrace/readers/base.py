"""The seam between history and the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """Rows of one partition of a table, or of its ``index``, in the order of ``sort_attribute``.

    ``lower`` is inclusive, ``upper`` exclusive: no sort key equals an upper bound (``keys.time_bound``).
    ``start`` is the key after which to go on: all key attributes of table and index. ``limit`` counts rows read.
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
            headrace.errors.StoreUnavailable: the table did not answer in time.
        """
        ...
