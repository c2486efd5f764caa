"""Resorts and counts of days in memory, for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from headrace.core.errors import CacheUnavailable
from headrace.core.times import Clock, SystemClock
from headrace.features.ski.day_counts import FILLING, CountedRide, Counts, Coverage
from headrace.features.ski.resorts import Resort
from headrace.features.ski.stream import ResortDay, day_counts


class MemoryResorts:
    """:class:`~headrace.features.ski.resorts.Resorts`; ``failure`` is raised by every call while it is set."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.calls = 0
        self._resorts: dict[int, Resort] = {}

    def get(self, resort_id: int) -> Resort:
        self._call()
        return self._resorts.get(resort_id, Resort(resort_id))

    def every(self) -> list[Resort]:
        self._call()
        return [resort for _, resort in sorted(self._resorts.items()) if resort.seasons]

    def add_season(self, resort_id: int, season: int, name: str | None = None) -> None:
        resort = self.get(resort_id)
        self._resorts[resort_id] = replace(resort, name=name or resort.name, seasons=resort.seasons | {season})

    def invalidate_counts(self, resort_ids: Iterable[int], until: int) -> None:
        for resort_id in resort_ids:
            resort = self.get(resort_id)
            self._resorts[resort_id] = replace(resort, invalid_until=max(until, resort.invalid_until))

    def _call(self) -> None:
        self.calls += 1
        if self.failure is not None:
            raise self.failure


@dataclass(slots=True)
class _Day:
    coverage: Coverage
    until: int
    progress_at: int = 0
    rides: dict[bytes, CountedRide] = field(default_factory=dict)


class MemoryDayCounts:
    """Counts in memory, for tests. ``down``: the cache is unavailable. ``calls`` counts round trips."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.down = False
        self.calls = 0
        self._clock = clock or SystemClock()
        self.days: dict[str, _Day] = {}

    def read(self, day: ResortDay, lifts: Sequence[int] = ()) -> tuple[Coverage, Counts] | None:
        found = self._find(day)
        if found is None:
            return None
        counts = Counts.of(found.rides.values())
        counts.lifts = {lift: counts.lifts.get(lift, 0) for lift in lifts}
        return found.coverage, counts

    def begin(self, day: ResortDay, generation: str, now: int, after: int, patience: int, until: int) -> bool:
        found = self._find(day)
        if found is not None and found.coverage.since > after:
            is_abandoned = found.coverage.stage == FILLING and now - found.progress_at >= patience
            if not is_abandoned:
                return False
        self.days[day_counts(day)] = _Day(Coverage(generation, now, FILLING), until, now)
        return True

    def add(
        self, rides: Sequence[tuple[ResortDay, Sequence[CountedRide]]], generation: str | None = None, now: int = 0
    ) -> bool:
        everywhere = True
        for day, each in rides:
            found = self._find(day, generation)
            if found is None:
                everywhere = False
            else:
                for ride in each:
                    if ride.taken_back or ride.mark not in found.rides:
                        found.rides[ride.mark] = ride
                found.progress_at = now if generation is not None else found.progress_at
        return everywhere

    def settle(self, day: ResortDay, generation: str, stage: str, until: int) -> None:
        found = self._find(day, generation)
        if found is not None:
            found.coverage = Coverage(found.coverage.generation, found.coverage.since, stage)
            found.until = min(found.until, until)
            found.progress_at = 0

    def clear(self) -> None:
        """Delete all counts, as a restarted cache does."""
        self.days.clear()

    def _find(self, day: ResortDay, generation: str | None = None) -> _Day | None:
        self.calls += 1
        if self.down:
            raise CacheUnavailable("the cache is unavailable")
        found = self.days.get(day_counts(day))
        if found is None or found.until <= self._clock.now() // 1000:
            return None
        return found if generation in (None, found.coverage.generation) else None
