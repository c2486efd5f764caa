"""Late events: their minute had ended when they were stored, so an aggregate that lacks them may be in the cache.

The hook marks the slots that a late event changes. While the cache is unavailable it cannot: then the event returns
through the retry lane, is stored again (which changes nothing) and marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.analytics import generations
from headrace.analytics.aggregate import MINUTE_LENGTH
from headrace.analytics.generations import CHANGED, SKEW_SECONDS
from headrace.analytics.time_slots import STEPS, Slot
from headrace.core import times
from headrace.core.errors import CacheUnavailable, FollowUpUnavailable
from headrace.core.items import Item
from headrace.core.stream import Stream
from headrace.core.times import Clock
from headrace.runtime.observability import report
from headrace.storage.cache import Cache


class LateEvents:
    """A hook that ends the generations of the slots that late events belong to."""

    def __init__(self, cache: Cache, clock: Clock, settle: float) -> None:
        self._cache = cache
        self._clock = clock
        # A read that began before the mark may need as long again to see the row.
        self._seconds = settle + 2 * SKEW_SECONDS

    def stored(self, stream: Stream, items: Sequence[Item]) -> Sequence[FollowUpUnavailable | None]:
        """One outcome per item: a failure for each late one while the cache does not take the marks."""
        if stream.analytics_dimensions is None:
            return [None] * len(items)
        # A minute that ends while the clocks disagree counts as ended: a mark too many costs little.
        now = self._clock.now() + SKEW_SECONDS * times.SECOND
        current = times.iso(now)[:MINUTE_LENGTH]
        minutes = [str(item[stream.analytics_dimensions.time])[:MINUTE_LENGTH] for item in items]
        late = {minute for minute in minutes if minute < current}
        if not late:
            return [None] * len(items)
        changed = {slot for minute in late for slot in _slots(minute, now // times.SECOND)}
        try:
            self._cache.set_many(
                {
                    generations.slot_generation(stream.name, step, start): (CHANGED, self._seconds)
                    for start, step in changed
                }
            )
        except CacheUnavailable as error:
            report("late events", f"late events wait for the cache: {error.message}")
            return [_NOT_MARKED if minute in late else None for minute in minutes]
        return [None] * len(items)


_NOT_MARKED = FollowUpUnavailable("the event is stored, but its minute could not be marked in the cache")


def _slots(minute: str, now: int) -> Iterator[Slot]:
    """The slots that hold ``minute`` and have ended: the others are not in the cache yet."""
    at = times.micros_of(f"{minute}:00.000000Z") // times.SECOND
    for step in STEPS:
        slot = Slot(at - at % step, step)
        if slot.end <= now:
            yield slot
