"""Marks the slots whose rows came late or changed, so that aggregates in the cache are not used without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from headrace.core import times
from headrace.core.errors import CacheUnavailable, FollowUpUnavailable
from headrace.core.items import Item
from headrace.core.stream import Hook, Stream
from headrace.core.times import Clock
from headrace.features.analytics.generations import (
    CHANGED,
    GRACE_SECONDS,
    SETTLE_SECONDS,
    SKEW_SECONDS,
    slot_generation,
)
from headrace.features.analytics.time_slots import LENGTHS, STEPS, TEN_SECONDS, Slot, start_of
from headrace.runtime.observability import report
from headrace.services.shared import cache, clock
from headrace.storage.redis import Cache

MARKED_SECONDS = SETTLE_SECONDS + 2 * SKEW_SECONDS
"""A read that began before the mark may miss the row for the settling time."""
_NOT_MARKED = FollowUpUnavailable("the event is stored, but its slots could not be marked in the cache")


def late(stream: Stream) -> Hook:
    return partial(mark, stream, cache(), clock())


def mark(stream: Stream, cache: Cache, clock: Clock, items: Sequence[Item]) -> Sequence[FollowUpUnavailable | None]:
    """Change the generations of the slots of late ``items``: a failure for each of these without the cache."""
    assert stream.analytics_dimensions is not None  # noqa: S101
    # A slot counts as closed if any environment's clock may say so: an unnecessary mark costs little.
    closed = clock.now() // times.SECOND + SKEW_SECONDS - GRACE_SECONDS
    length = LENGTHS[TEN_SECONDS]
    current = times.iso(closed * times.SECOND)[:length]
    steps = [str(item.get(stream.analytics_dimensions.time, ""))[:length] for item in items]
    ended = {step for step in steps if "" < step < current}
    changed = {slot for step in ended for slot in _slots(start_of(step), closed)}
    try:
        if changed:
            cache.set_many({slot_generation(stream.name, slot): (CHANGED, MARKED_SECONDS) for slot in changed})
    except CacheUnavailable as error:
        report("late events", f"late events wait for the cache: {error.message}")
        return [_NOT_MARKED if step in ended else None for step in steps]
    return [None] * len(items)


def _slots(at: int, closed: int) -> Iterator[Slot]:
    """The slots with the time ``at`` that ended by ``closed`` (epoch seconds): later ones are not in the cache yet."""
    for step in STEPS:
        slot = Slot(at - at % step, step)
        if slot.end <= closed:
            yield slot
