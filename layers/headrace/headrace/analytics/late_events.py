"""Marks the slots that late events change: a cached aggregate may not count them.

An event is late if its minute had ended when it was stored. While the cache is unavailable, late events go through the
retry lane. There they are stored again, which changes nothing, and their slots are marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.analytics.aggregate import MINUTE_LENGTH
from headrace.analytics.generations import CHANGED, SKEW_SECONDS, slot_generation
from headrace.analytics.time_slots import STEPS, Slot
from headrace.core import times
from headrace.core.errors import CacheUnavailable, FollowUpUnavailable
from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.core.times import Clock
from headrace.runtime.observability import report
from headrace.storage.cache import Cache


class LateEvents:
    """A hook that changes the generations of the slots to which late events belong."""

    def __init__(self, cache: Cache, clock: Clock, settle: float) -> None:
        self._cache = cache
        self._clock = clock
        # A read that began before the mark may miss the row for the settling time.
        self._seconds = settle + 2 * SKEW_SECONDS

    def after_store(self, stream: Stream, items: Sequence[Item]) -> Sequence[FollowUpUnavailable | None]:
        """One outcome per item: a failure for each late one while the cache is unavailable."""
        if stream.analytics_dimensions is None:
            return [None] * len(items)
        # A minute counts as ended if any environment's clock may say so: an unnecessary mark costs little.
        now = self._clock.now() + SKEW_SECONDS * times.SECOND
        current = times.iso(now)[:MINUTE_LENGTH]
        minutes = [str(item[stream.analytics_dimensions.time])[:MINUTE_LENGTH] for item in items]
        late = {minute for minute in minutes if minute < current}
        changed = {slot for minute in late for slot in _slots(minute, now // times.SECOND)}
        try:
            if changed:
                self._cache.set_many({slot_generation(stream.name, slot): (CHANGED, self._seconds) for slot in changed})
        except CacheUnavailable as error:
            report("late events", f"late events wait for the cache: {error.message}")
            return [_NOT_MARKED if minute in late else None for minute in minutes]
        return [None] * len(items)


_NOT_MARKED = FollowUpUnavailable("the event is stored, but its minute could not be marked in the cache")


def _slots(minute: str, now: int) -> Iterator[Slot]:
    """The slots with ``minute`` that ended before ``now`` (epoch seconds): later ones are not in the cache yet."""
    at = times.micros_of(f"{minute}:00.000000Z") // times.SECOND
    for step in STEPS:
        slot = Slot(at - at % step, step)
        if slot.end <= now:
            yield slot
