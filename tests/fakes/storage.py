"""Stores and caches in memory, for tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from headrace.core.errors import CacheUnavailable, PoisonRecord, StoreThrottled, StoreUnavailable
from headrace.core.items import Item, check
from headrace.core.times import Clock, SystemClock
from headrace.storage.ports import EXISTS, Key, Outcome, Table, one_of_each
from headrace.storage.reading import EXPIRES, Columns, Query, RangeQuery, Rows
from headrace.storage.redis import Cache, milliseconds


class MemoryStore:
    """``tables`` maps a name to rows by key. ``down``: nothing is stored. ``throttled`` picks rows not taken."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[Key, Item]] = defaultdict(dict)
        self.down = False
        self.throttled: Callable[[Item], bool] = lambda _item: False
        self.writes = 0

    def put_many(self, table: Table, items: Sequence[Item]) -> list[Outcome]:
        rows, keys = one_of_each(table, items)
        outcomes = {key: self._put(table, key, row) for key, row in rows.items()}
        first = {id(row) for row in rows.values()}
        found = zip(keys, items, strict=True)
        return [outcomes[key] or (None if id(item) in first else EXISTS) for key, item in found]

    def _put(self, table: Table, key: Key, row: Item) -> Outcome:
        if self.down:
            return StoreUnavailable("the table is unavailable")
        if self.throttled(row):
            return StoreThrottled("the table takes less than it is given")
        try:
            check(row, *table.key)
        except PoisonRecord as error:
            return PoisonRecord("refused_by_store", error.message)
        if key in self.tables[table.name]:
            return EXISTS
        self.tables[table.name][key] = dict(row)
        self.writes += 1
        return None

    def rows(self, table: str) -> list[Item]:
        """All rows of a table, in key order."""
        return [row for _, row in sorted(self.tables[table].items(), key=lambda pair: pair[0])]


class MemoryReader:
    """Reads what ``rows(table)`` gives; indexes never lag.

    ``keys`` are the table's own key attributes; an index's order is its sort attribute, then these. ``queries`` are
    those so far, ``rounds`` how often many were asked together, and ``given`` how many rows were read.
    """

    def __init__(
        self, rows: Callable[[str], Iterable[dict[str, Any]]], keys: tuple[str, str] = ("roomId", "timestampSk")
    ) -> None:
        self._rows = rows
        self._keys = keys
        self.queries: list[RangeQuery] = []
        self.rounds = self.given = 0

    def read(self, query: RangeQuery) -> Rows:
        self.queries.append(query)

        def order(row: Any) -> tuple[str, ...]:
            return (row[query.sort_attribute], *(row[key] for key in self._keys))

        found = sorted(
            (
                row
                for row in self._rows(query.table)
                if row.get(query.partition_attribute) == query.partition
                and query.sort_attribute in row
                and (query.lower is None or row[query.sort_attribute] >= query.lower)
                and (query.upper is None or row[query.sort_attribute] < query.upper)
            ),
            key=order,
            reverse=query.newest_first,
        )
        if query.start is not None:
            start = order(query.start)
            found = [row for row in found if (order(row) < start if query.newest_first else order(row) > start)]
        page = found[: query.limit]
        names = {query.partition_attribute, query.sort_attribute, *self._keys}
        more = {name: page[-1][name] for name in names} if len(found) > len(page) and page else None
        at = query.unexpired_at
        alive = [row for row in page if at is None or row.get("expiresAt", at + 1) > at]
        self.given += len(alive)
        return Rows([{name: row[name] for name in query.attributes or row if name in row} for row in alive], more)

    def read_many(self, queries: Sequence[RangeQuery]) -> list[Rows]:
        self.rounds += 1
        return [self.read(query) for query in queries]


class MemoryColumns:
    """Reads what ``rows(table, index)`` gives now, ``page`` rows at a time; ``reads`` counts pages."""

    def __init__(self, rows: Callable[[str, str | None], Iterable[dict[str, Any]]], page: int = 1000) -> None:
        self._rows = rows
        self._page = page
        self.reads = 0

    def read(self, query: Query) -> Columns:
        self.reads += 1
        after = query.start["after"] if query.start is not None else ("",)
        found = sorted(
            ((row[query.sort_attribute], row[query.partition_attribute], str(sorted(row.items()))), row)
            for row in self._rows(query.table, query.index)
            if row.get(query.partition_attribute) == query.partition
            and (query.lower or "") <= row[query.sort_attribute]
            and (query.upper is None or row[query.sort_attribute] < query.upper)
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


class MemoryCache(Cache):
    """The cache in memory, for tests. ``down``: it is unavailable. ``calls`` counts round trips."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.down = False
        self.calls = 0
        self._clock = clock or SystemClock()
        self._entries: dict[str, tuple[bytes, int]] = {}

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        self._call()
        return [self._get(key) for key in keys]

    def set_many(self, entries: Mapping[str, tuple[bytes, float]]) -> None:
        self._call()
        for key, (value, seconds) in entries.items():
            self._set(key, value, seconds)

    def add_many(self, entries: Mapping[str, tuple[bytes, float]]) -> list[bool]:
        self._call()
        added = []
        for key, (value, seconds) in entries.items():
            added.append(self._get(key) is None)
            if added[-1]:
                self._set(key, value, seconds)
        return added

    def forget(self, key: str) -> None:
        """Delete an entry, as scripts do."""
        self._call()
        self._entries.pop(key, None)

    def clear(self) -> None:
        """Delete all entries, as a restarted cache does."""
        self._entries.clear()

    @contextmanager
    def one_call(self) -> Iterator[None]:
        """Count all that is done within as one round trip, as a script is."""
        self._call()
        calls = self.calls
        yield
        self.calls = calls

    def _call(self) -> None:
        if self.down:
            raise CacheUnavailable("the cache is unavailable")
        self.calls += 1

    def _set(self, key: str, value: bytes, seconds: float) -> None:
        self._entries[key] = (value, self._clock.now() + milliseconds(seconds) * 1000)

    def _get(self, key: str) -> bytes | None:
        value, expires = self._entries.get(key, (None, 0))
        return value if expires > self._clock.now() else None


class MemoryObjects:
    """Objects of a bucket. After so many more calls as ``calls_left``, it does not answer."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.written_at: dict[str, datetime] = {}
        self.calls_left = 10**9

    def names(self, prefix: str) -> Iterator[str]:
        return (name for name, _ in self.dated_names(prefix))

    def dated_names(self, prefix: str, after: str = "") -> Iterator[tuple[str, datetime]]:
        self._count()
        names = sorted(name for name in self.objects if name.startswith(prefix) and name > after)
        return iter([(name, self.written_at.get(name, datetime.min)) for name in names])

    def read(self, name: str) -> bytes:
        self._count()
        if name not in self.objects:
            raise StoreUnavailable("there is no such object")
        return self.objects[name]

    def write(self, name: str, body: bytes) -> None:
        self._count()
        self.objects[name] = body

    def delete(self, name: str) -> None:
        self._count()
        self.objects.pop(name, None)

    def link(self, name: str, shown: str, seconds: int, *, is_inline: bool = False) -> str:
        return f"https://files.test/{name}?as={shown}&for={seconds}" + "&inline" * is_inline

    def lock(self, name: str, seconds: int) -> bool:
        if name in self.objects:
            return False
        self.write(name, str(seconds).encode())
        return True

    def _count(self) -> None:
        if not self.calls_left:
            raise StoreUnavailable("the bucket does not answer")
        self.calls_left -= 1
