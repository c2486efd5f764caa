"""Questions about a resort's day: answered from counts in the cache, which are filled from the table when missing.

Why the counts are exact. From the moment they are *begun*, persist_events lets every ride it stores join them. What was
stored before is read from the table's index and joins as well; a ride that is told twice joins once. An index may lag
behind its table, so that first reading may miss rides of the last ``LAG``: the first question after ``LAG`` reads once
more and *confirms* the counts. From then on no question reads the table until the counts are gone (an hour at most).
Whoever cannot tell the cache of a ride makes all counts of that resort *doubtful* in the table of resorts, which every
question reads: they are begun anew. So an answer misses at most the rides that were stored in the last ``STALENESS``.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace import times
from headrace.errors import CacheUnavailable
from headrace.observe import report
from headrace.readers import RangeQuery, RangeReader
from headrace.ski.day_counts import CONFIRMED, FILLED, CountedRide, Counts, DayCounts, State, counted
from headrace.ski.keys import ResortDay, resort_day_shards
from headrace.ski.resorts import Resorts
from headrace.streams.ski import RESORT_DAY_INDEX
from headrace.times import Clock

LAG = 5_000
"""Milliseconds that an index lags behind its table at most; clocks of two environments differ by less."""

PATIENCE = 5_000
"""Milliseconds that whoever fills or confirms counts is waited for."""

STALENESS = 2 * LAG + PATIENCE

LIFE = 3_600_000
"""Milliseconds after which counts are read from the table again."""

PAGE = 10_000
"""Rows asked for at once; the table ends a page at 1 MB."""

_JOINING = 2_000


class ResortDays:
    """Counts of resorts' days; ``table`` is that of the rides."""

    def __init__(self, reader: RangeReader, table: str, resorts: Resorts, counts: DayCounts, clock: Clock) -> None:
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
            return Counts.of(self._read(day)[0])

    def _cached(self, day: ResortDay, lifts: Sequence[int], doubtful_until: int) -> Counts:
        now = self._now()
        found = self._counts.read(day, lifts)
        known = found[0] if found is not None and found[0].since > doubtful_until else None
        if found is not None and known is not None and self._is_good(day, known, now):
            return found[1]
        if now <= doubtful_until:
            return Counts.of(self._read(day)[0])  # what is begun now would be doubtful too
        if known is None or known.stage != FILLED:
            known = State(uuid.uuid4().hex, now, FILLED)
            if not self._counts.begin(day, known.generation, now, doubtful_until, PATIENCE, now + LIFE):
                return Counts.of(self._read(day)[0])  # another question fills them
            stage = FILLED
        else:
            stage = CONFIRMED
        rides, until = self._read(day)
        if self._fill(day, known.generation, rides, stage, until):
            found = self._counts.read(day, lifts)
            if found is not None and found[0].generation == known.generation:
                return found[1]
        return Counts.of(rides)

    def _is_good(self, day: ResortDay, known: State, now: int) -> bool:
        """Whether the counts can be answered with as they are."""
        if known.stage != FILLED or now < known.since + LAG:
            return known.stage in (FILLED, CONFIRMED)
        return not self._counts.claim(day, known.generation, now, PATIENCE)

    def _fill(self, day: ResortDay, generation: str, rides: Sequence[CountedRide], stage: str, until: int) -> bool:
        for at in range(0, len(rides), _JOINING):
            if not self._counts.add([(day, rides[at : at + _JOINING])], generation):
                return False
        self._counts.settle(day, generation, stage, until)
        return True

    def _read(self, day: ResortDay) -> tuple[list[CountedRide], int]:
        """All rides of the day as the index shows them, and when the first of them expires."""
        seconds = self._clock.now() // times.SECOND
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
                unexpired_at=seconds,
            )
            for shard in resort_day_shards(day, shards)
        ]
        rows: list[dict[str, Any]] = []
        while queries:
            pages = self._reader.read_many(queries)
            rows += [row for page in pages for row in page.items]
            ahead = zip(queries, pages, strict=True)
            queries = [replace(query, start=page.more) for query, page in ahead if page.more is not None]
        expiring = [row["expiresAt"] for row in rows if "expiresAt" in row]
        return [counted(row["skierID"], row["rideSk"]) for row in rows], min(expiring, default=10**10) * 1000

    def _now(self) -> int:
        return self._clock.now() // 1000
