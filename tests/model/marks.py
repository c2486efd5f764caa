"""The analytics slots that must still be marked, because the table changed after they had ended.

Written without the code under test: rows and cache keys are read by their documented form alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping

from headrace.core.items import Item
from headrace.core.times import SECOND, Clock, parse_iso
from headrace.storage.ports import Failure, Key, Table
from tests.fakes.storage import MemoryCache, MemoryStore
from tests.model.ledger import EventKey, key_of

SETTLE = 10
"""Seconds that an index may lag: a mark must last longer."""
CHANGED = b"!"
GRACE = 2
"""Seconds from the end of a slot until it may be counted for good."""
STEPS = (10, 60, 600, 3600, 86400)

_GENERATION = re.compile(r"\{slots\.\d+\}:generation:chat:(\d+):(\d+)")

Slot = tuple[int, int]
"""Step and start, in seconds."""


class MarkedCache(MemoryCache):
    """A cache that records which slots still need a mark, and the events that require it."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._now = clock.now
        self.missing: defaultdict[Slot, set[EventKey]] = defaultdict(set)

    def set_many(self, entries: Mapping[str, tuple[bytes, float]]) -> None:
        """Store each value; a slot whose mark is among them no longer needs one."""
        super().set_many(entries)
        for key, (value, seconds) in entries.items():
            found = _GENERATION.fullmatch(key)
            if found and value == CHANGED and seconds > SETTLE:
                self.missing.pop((int(found[1]), int(found[2])), None)

    def require_marks(self, row: Item) -> None:
        """Record that ``row`` was stored: its slots that may have been counted need a mark."""
        event = key_of(row)
        at, now = parse_iso(event.time) // SECOND, self._now() // SECOND
        for step in STEPS:
            start = at - at % step
            if start + step + GRACE <= now:
                self.missing[step, start].add(event)

    def unmarked(self) -> set[EventKey]:
        """The events that may be missing in a cached slot."""
        return set().union(*self.missing.values())


class ChangingStore(MemoryStore):
    """A store that reports every new or changed row."""

    def __init__(self, changed: Callable[[Item], None]) -> None:
        super().__init__()
        self._changed = changed

    def _put(self, table: Table, key: Key, row: Item) -> Failure | None:
        before = self.tables[table.name].get(key)
        failure = super()._put(table, key, row)
        if failure is None and row != before:
            self._changed(row)
        return failure
