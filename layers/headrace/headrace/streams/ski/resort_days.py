"""Questions about a resort's day: answered from counts in the cache, which are filled from the table when missing.

Why the counts are exact. From the moment they are *begun*, persist_events lets every ride it stores join them. What was
stored before is read from the table's index and joins as well; a ride that is told twice joins once. An index may lag
behind its table, so that first reading may miss rides of the last ``LAG``: the first question after ``LAG`` reads once
more and *confirms* the counts. From then on no question reads the table until the counts are gone (an hour at most).
Whoever cannot tell the cache of a ride makes all counts of that resort *doubtful* in the table of resorts, which every
question reads: they are begun anew. So an answer misses at most the rides that were stored in the last ``STALENESS``.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from headrace.core import times
from headrace.core.errors import CacheUnavailable
from headrace.core.times import Clock
from headrace.runtime.observability import report
from headrace.storage.ports import RangeQuery, RangeReader
from headrace.streams.ski.day_counts import CONFIRMED, FILLED, CountedRide, Counts, DayCounts, State, counted
from headrace.streams.ski.keys import ResortDay, resort_day_shards
from headrace.streams.ski.resorts import Resorts
from headrace.streams.ski.stream import RESORT_DAY_INDEX

LAG = 5_000
"""Milliseconds that an index lags behind its table at most; clocks of two environments differ by less."""

PATIENCE = 10_000
"""Milliseconds after which whoever fills or confirms counts, and says nothing, is thought to have given up."""

STALENESS = 2 * LAG + PATIENCE

LIFE = 3_600_000
"""Milliseconds after which counts are read from the table again."""

PAGE = 2_500
"""Rows that are asked of each shard at once."""

JOINING = 2_000
"""Rides that join in one round trip: few enough for the cache to answer in time."""

WAITS, WAIT_SECONDS = 60, 0.05
"""How often, and how long each time, a question looks whether another one has filled the counts."""

FOR_EVER = 10**13


class ResortDays:
    """Counts of resorts' days; ``table`` is that of the rides."""

    def __init__(
        self,
        reader: RangeReader,
        table: str,
        resorts: Resorts,
        counts: DayCounts,
        clock: Clock,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._sleep = sleep
        self._reader = reader
        self._table = table
        self._resorts = resorts
        self._counts = counts
        self._clock = clock

    def counts(self, day: ResortDay, lifts: Sequence[int] = ()) -> Counts:
        """The day's unique skiers, rides by hour, and rides on each of ``lifts``.

        Raises:
            NotFound: the resort has no such season; StoreUnavailable: a table does not answer.
        """
        resort = self._resorts.get(day.resort)
        resort.require(day.season)
        try:
            return self._cached(day, lifts, resort.doubtful_until)
        except CacheUnavailable as error:
            report("ski counts", f"a resort's day is counted from the table: {error.message}")
            return self._from_table(day)

    def _cached(self, day: ResortDay, lifts: Sequence[int], doubtful_until: int) -> Counts:
        found = self._usable(day, lifts, doubtful_until)
        if isinstance(found, Counts):
            return found
        if found is not None:
            generation, stage = found.generation, CONFIRMED
        elif self._now() <= doubtful_until:
            return self._from_table(day)  # what is begun now would be doubtful too
        else:
            generation, stage, now = uuid.uuid4().hex, FILLED, self._now()
            if not self._counts.begin(day, generation, now, doubtful_until, PATIENCE, now + LIFE):
                return self._awaited(day, lifts, doubtful_until)
        rides = self._fill(day, generation, stage)
        ready = self._counts.read(day, lifts)
        if ready is not None and ready[0].generation == generation and ready[0].stage == stage:
            return ready[1]
        return Counts.of(rides)

    def _usable(self, day: ResortDay, lifts: Sequence[int], doubtful_until: int) -> Counts | State | None:
        """Counts to answer with, or the state of those that the caller is to confirm, or nothing."""
        found = self._counts.read(day, lifts)
        if found is None or found[0].since <= doubtful_until:
            return None
        state, counts = found
        if state.stage == FILLED and self._now() >= state.since + LAG:
            return state if self._counts.claim(day, state.generation, self._now(), PATIENCE) else counts
        return counts if state.stage in (FILLED, CONFIRMED) else None

    def _awaited(self, day: ResortDay, lifts: Sequence[int], doubtful_until: int) -> Counts:
        """What another question is filling, if it is ready soon: a hundred cold questions read the table once."""
        for _ in range(WAITS):
            self._sleep(WAIT_SECONDS)
            found = self._usable(day, lifts, doubtful_until)
            if isinstance(found, Counts):
                return found
        return self._from_table(day)

    def _fill(self, day: ResortDay, generation: str, stage: str) -> list[CountedRide]:
        """Let all rides of the day join its counts, page by page; all that the index shows of them."""
        every: list[CountedRide] = []
        until = FOR_EVER
        is_whole = True
        for rides, expires in self._pages(day):
            every += rides
            until = min(until, expires)
            for at in range(0, len(rides), JOINING):
                joining = [(day, rides[at : at + JOINING])]
                is_whole = is_whole and self._counts.add(joining, generation, self._now())
        if is_whole:
            self._counts.settle(day, generation, stage, until)
        return every

    def _from_table(self, day: ResortDay) -> Counts:
        return Counts.of(ride for rides, _ in self._pages(day) for ride in rides)

    def _pages(self, day: ResortDay) -> Iterator[tuple[list[CountedRide], int]]:
        """The rides of the day as the index shows them, a page of every shard at once, and when the first expires."""
        shards = RESORT_DAY_INDEX.shards.read if RESORT_DAY_INDEX.shards else 0
        queries = [
            RangeQuery(
                self._table,
                RESORT_DAY_INDEX.partition_key,
                shard,
                RESORT_DAY_INDEX.sort_key,
                index=RESORT_DAY_INDEX.name,
                newest_first=False,
                limit=PAGE,
                unexpired_at=self._clock.now() // times.SECOND,
            )
            for shard in resort_day_shards(day, shards)
        ]
        while queries:
            pages = self._reader.read_many(queries)
            rows = [row for page in pages for row in page.items]
            expires = min((row["expiresAt"] * 1000 for row in rows if "expiresAt" in row), default=FOR_EVER)
            yield [counted(row["skierID"], row["rideSk"]) for row in rows], expires
            ahead = zip(queries, pages, strict=True)
            queries = [replace(query, start=page.more) for query, page in ahead if page.more is not None]

    def _now(self) -> int:
        return self._clock.now() // 1000
