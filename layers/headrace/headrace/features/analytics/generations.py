"""Generations of analytics slots: tokens in the cache, which say whether an aggregate is still valid, and cache keys.

An aggregate in the cache begins with a token: the generation that its slot had before the rows were read. A late event
changes the generation of its slots, so their earlier aggregates are no longer used. After the cache was emptied,
aggregates are not kept for the settling time, because the cache may have forgotten a change.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Sequence

from headrace.core import times
from headrace.core.collections import slices
from headrace.core.times import Clock
from headrace.features.analytics.time_slots import DAY, HOUR, MINUTE, TEN_MINUTES, TEN_SECONDS, Slot
from headrace.storage.redis import Cache

SLOT_GROUPS = 16
"""Groups of slots. The keys of a group are in one hash slot of a cluster, so on one node, and are lost together."""


def slot_group(number: int) -> str:
    """The cache key of the time since when the cache remembers the generations of a group."""
    return f"{{slots.{number}}}:since"


def slot_group_of(stream: str, slot: Slot) -> int:
    """The number of a slot's group."""
    return zlib.crc32(f"{stream}:{slot.step}:{slot.start}".encode()) % SLOT_GROUPS


def slot_generation(stream: str, slot: Slot) -> str:
    """The cache key of a slot's generation, which all aggregates of the slot share, filtered or not."""
    return f"{{slots.{slot_group_of(stream, slot)}}}:generation:{stream}:{slot.step}:{slot.start}"


def slot_aggregate(stream: str, slot: Slot, narrowed: Iterable[tuple[str, str]] = ()) -> str:
    """The cache key of a slot's aggregate, of all rows or of those with the ``narrowed`` values of attributes."""
    return f"slot:{stream}:{slot.step}:{slot.start}" + "".join(f"#{name}#{value}" for name, value in narrowed)


CHANGED = b"!"
"""The generation of a slot while a late event may not be visible to every read."""
TOKEN_BYTES = 12
SETTLE_SECONDS = 10.0
"""The age from which an event is counted, when the tail of a window is read.

It is more than the lag of an index behind its table, and more than the longest write (9 s).
"""
SKEW_SECONDS = 1
"""How far the clocks of two environments may be apart."""
GRACE_SECONDS = 2
"""How long after its end a slot takes events without a mark, which most events therefore do not need."""
KEPT_SECONDS = {TEN_SECONDS: TEN_MINUTES, MINUTE: 6 * HOUR, TEN_MINUTES: DAY, HOUR: 7 * DAY, DAY: 31 * DAY}
"""How long a slot is kept, by its step. It also bounds how long a wrong aggregate lasts if the cache loses a change."""
_SINCE_SECONDS = 365 * DAY
SLICE = 500
"""Keys in one call: a cache answers them well within the timeout of a call."""


class Generations:
    """The generations of one stream's slots."""

    def __init__(self, cache: Cache, stream: str, clock: Clock) -> None:
        self._cache = cache
        self._stream = stream
        self._clock = clock

    def begin(self, slots: Sequence[Slot], known: Sequence[bytes | None]) -> list[bytes | None]:
        """A token for each of ``slots``, to keep an aggregate of rows that are read from now on, or ``None``.

        ``known`` are their generations as last read; missing ones are created.

        Raises:
            CacheUnavailable: the cache did not answer.
        """
        settled = self._settled_groups()
        found = dict(zip(slots, known, strict=True))
        missing = {slot_generation(self._stream, slot): slot for slot, token in found.items() if token is None}
        for names in slices(list(missing), SLICE):
            self._cache.add_many({name: (os.urandom(TOKEN_BYTES), KEPT_SECONDS[missing[name].step]) for name in names})
            found.update(zip(map(missing.__getitem__, names), self._cache.get_many(names), strict=True))
        return [
            found[slot] if found[slot] != CHANGED and slot_group_of(self._stream, slot) in settled else None
            for slot in slots
        ]

    def _settled_groups(self) -> set[int]:
        """The groups whose generations the cache has remembered for the settling time."""
        names = [slot_group(number) for number in range(SLOT_GROUPS)]
        found = self._cache.get_many(names)
        now = self._clock.now()
        missing = [name for name, since in zip(names, found, strict=True) if since is None]
        if missing:
            self._cache.add_many({name: (str(now).encode(), _SINCE_SECONDS) for name in missing})
        settled = now - (SETTLE_SECONDS + SKEW_SECONDS) * times.SECOND
        return {number for number, since in enumerate(found) if since is not None and int(since) <= settled}
