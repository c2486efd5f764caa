"""Counts of a resort's day, read from the cache and filled from the table when they are missing there.

Every ride that is stored after counts were begun is added to them by persist_events. Rides stored before are read from
the index, once at the beginning and once more after ``LAG``, when the index shows all of them. So an answer misses at
most the rides that were stored in the last ``STALENESS`` milliseconds. All stages: docs/explanation/ski.md.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from headrace.core import times
from headrace.core.collections import slices
from headrace.core.errors import CacheUnavailable
from headrace.core.keys import shards_of
from headrace.core.stream import TIME_SHARDS
from headrace.core.times import Clock
from headrace.features.ski.day_counts import CONFIRMED, FILLED, CountedRide, Counts, Coverage, counted
from headrace.features.ski.dynamodb import Resorts
from headrace.features.ski.redis import DayCounts
from headrace.features.ski.stream import RESORT_DAY_INDEX, ResortDay
from headrace.runtime.observability import report
from headrace.runtime.threads import Parallel
from headrace.storage.reading import ColumnReader, Query

LAG = 5_000
"""How many milliseconds an index lags behind its table at most; clocks of two environments differ by less."""
PATIENCE = 10_000
"""Milliseconds without progress after which another request may begin counts again that are being filled."""
STALENESS = 2 * LAG + PATIENCE
LIFETIME = 3_600_000
"""Milliseconds after which counts are read from the table again."""
SKIER = "skierID"
ADDED_AT_ONCE = 2_000
"""Rides that are added in one round trip: few enough for the cache to answer in time."""
WAITS, WAIT_SECONDS = 60, 0.05
"""How often a request checks whether another request has filled the counts, and the wait before each check."""
NEVER = 10**13
"""Epoch milliseconds that are later than every expiry time."""


class _Page(NamedTuple):
    """Rides of one page, when the first of them expires (epoch milliseconds), and whether they were added."""

    rides: list[CountedRide]
    expires: int
    is_added: bool


@dataclass(frozen=True, slots=True)
class ResortDays:
    """Counts of resorts' days; ``table`` is the table of the rides. ``parallel`` reads the ``shards`` of a day."""

    reader: ColumnReader
    table: str
    resorts: Resorts
    cached: DayCounts
    clock: Clock
    sleep: Callable[[float], None] = time.sleep
    parallel: Parallel = field(default_factory=lambda: Parallel(1, "resort-days"))
    shards: int = TIME_SHARDS.read

    def counts(self, day: ResortDay, lifts: Sequence[int] = ()) -> Counts:
        """The day's unique skiers, rides by hour, and rides on each of ``lifts``.

        Raises:
            NotFound: the resort has no such season.
            StoreUnavailable: a table did not answer.
        """
        resort = self.resorts.get(day.resort)
        resort.require(day.season)
        try:
            return self._from_cache(day, lifts, resort.invalid_until)
        except CacheUnavailable as error:
            report("ski counts", f"a resort's day is counted from the table: {error.message}")
            return self._from_table(day)

    def _from_cache(self, day: ResortDay, lifts: Sequence[int], invalid_until: int) -> Counts:
        found = self._valid_counts(day, lifts, invalid_until)
        if isinstance(found, Counts):
            return found
        if found is not None:
            generation, stage = found.generation, CONFIRMED
        elif self._now() <= invalid_until:
            return self._from_table(day)  # counts that were started now would also be invalid
        else:
            generation, stage, now = uuid.uuid4().hex, FILLED, self._now()
            if not self.cached.begin(day, generation, now, invalid_until, PATIENCE, now + LIFETIME):
                return self._wait_for_counts(day, lifts, invalid_until)
        rides = self._fill(day, generation, stage)
        ready = self.cached.read(day, lifts)
        if ready is not None and ready[0].generation == generation and ready[0].stage == stage:
            return ready[1]
        return Counts.of(rides)

    def _valid_counts(self, day: ResortDay, lifts: Sequence[int], invalid_until: int) -> Counts | Coverage | None:
        """Valid counts, or the state of counts that the caller has to confirm, or ``None``."""
        found = self.cached.read(day, lifts)
        if found is None or found[0].since <= invalid_until:
            return None
        coverage, counts = found
        if coverage.stage == FILLED and self._now() >= coverage.since + LAG:
            return coverage
        return counts if coverage.stage in (FILLED, CONFIRMED) else None

    def _wait_for_counts(self, day: ResortDay, lifts: Sequence[int], invalid_until: int) -> Counts:
        """The counts that another request fills, if they are ready soon: concurrent requests read the table once."""
        for _ in range(WAITS):
            self.sleep(WAIT_SECONDS)
            found = self._valid_counts(day, lifts, invalid_until)
            if isinstance(found, Counts):
                return found
        return self._from_table(day)

    def _fill(self, day: ResortDay, generation: str, stage: str) -> list[CountedRide]:
        """Add all rides of the day that the index shows to its counts, page by page, and return them."""

        def add(rides: Sequence[CountedRide]) -> bool:
            parts = slices(rides, ADDED_AT_ONCE)
            return all(self.cached.add([(day, part)], generation, self._now()) for part in parts)

        pages = self._pages(day, add)
        if all(page.is_added for page in pages):
            self.cached.settle(day, generation, stage, min(page.expires for page in pages))
        return [ride for page in pages for ride in page.rides]

    def _from_table(self, day: ResortDay) -> Counts:
        return Counts.of(ride for page in self._pages(day) for ride in page.rides)

    def _pages(self, day: ResortDay, add: Callable[[Sequence[CountedRide]], bool] | None = None) -> list[_Page]:
        """The day's rides in the index. The shards are read at once, and each page is added when it was read."""
        now = self.clock.now() // times.SECOND

        def read(shard: str) -> list[_Page]:
            query: Query | None = Query(
                self.table,
                RESORT_DAY_INDEX.partition_key,
                shard,
                RESORT_DAY_INDEX.sort_key,
                index=RESORT_DAY_INDEX.name,
                attributes=(SKIER,),
            )
            pages: list[_Page] = []
            while query is not None:
                page = self.reader.read(query)
                # Rows that have expired and are not deleted yet are left out here: in a query, it takes longer.
                rows = page.only([not expires or expires > now for expires in page.expires])
                rides = list(map(counted, rows.values[SKIER], rows.keys))
                expires = min((each * 1000 for each in rows.expires if each), default=NEVER)
                pages.append(_Page(rides, expires, add is None or add(rides)))
                query = replace(query, start=page.more) if page.more is not None else None
            return pages

        return [page for pages in self.parallel.map(read, shards_of(day.id, self.shards)) for page in pages]

    def _now(self) -> int:
        return self.clock.now() // 1000
