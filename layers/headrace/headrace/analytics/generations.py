"""Cache keys of analytics slots."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Sequence

from headrace.analytics.time_slots import DAY, HOUR, MINUTE, TEN_MINUTES, Slot
from headrace.core import times
from headrace.core.times import Clock
from headrace.storage.cache import Cache

SLOT_GROUPS = 16
"""Groups of slots that are lost together: keys of one group lie in one slot of a cluster, so on one node."""


def slot_group(number: int) -> str:
    """The cache key of the time since when the cache has remembered the generations of one group of slots."""
    return f"{{slots.{number}}}:since"


def slot_group_of(stream: str, step: int, start: int) -> int:
    """The group of a slot."""
    return zlib.crc32(f"{stream}:{step}:{start}".encode()) % SLOT_GROUPS


def slot_generation(stream: str, step: int, start: int) -> str:
    """The cache key of a slot's generation: every aggregate of that slot, narrowed or not, belongs to one."""
    return f"{{slots.{slot_group_of(stream, step, start)}}}:generation:{stream}:{step}:{start}"


def slot_aggregate(stream: str, step: int, start: int, narrowed: Iterable[tuple[str, str]] = ()) -> str:
    """The cache key of a slot's aggregate, of all rows or of those ``narrowed`` to values of attributes."""
    return f"slot:{stream}:{step}:{start}" + "".join(f"#{name}#{value}" for name, value in narrowed)


def slot_builder(stream: str, start: int, narrowed: Iterable[tuple[str, str]] = ()) -> str:
    """The cache key of the lock for building the minutes of the hour from ``start``."""
    return f"slot-builder:{stream}:{start}" + "".join(f"#{name}#{value}" for name, value in narrowed)


CHANGED = b"!"
TOKEN_BYTES = 12
SKEW_SECONDS = 1
"""How far the clocks of two environments may be apart."""
KEPT_SECONDS = {MINUTE: 6 * HOUR, TEN_MINUTES: DAY, HOUR: 7 * DAY, DAY: 31 * DAY}
"""How long a slot is kept, by its step. Also the bound on any damage by a cache that forgets what it confirmed."""
_SINCE_SECONDS = 365 * DAY
SLICE = 500
"""Keys in one call: what a cache answers well within the time of a call."""


def new_token() -> bytes:
    """A new generation."""
    return os.urandom(TOKEN_BYTES)


class Generations:
    """The generations of one stream's slots; ``settle`` is the settling time in seconds."""

    def __init__(self, cache: Cache, stream: str, clock: Clock, settle: float) -> None:
        self._cache = cache
        self._stream = stream
        self._clock = clock
        self._settle = settle

    def key(self, slot: Slot) -> str:
        """The cache key of a slot's generation."""
        return slot_generation(self._stream, slot.step, slot.start)

    def begin(self, slots: Sequence[Slot], known: Sequence[bytes | None]) -> list[bytes | None]:
        """A token for each of ``slots``, with which what is read from now on may be kept; ``None`` where not.

        ``known`` are their generations as seen last; those that are missing are made.

        Raises:
            CacheUnavailable: the cache did not answer.
        """
        settled = self._settled_groups()
        found = dict(zip(slots, known, strict=True))
        missing = [slot for slot, token in found.items() if token is None]
        for part in (missing[at : at + SLICE] for at in range(0, len(missing), SLICE)):
            made = {slot: new_token() for slot in part}
            added = self._cache.add_many({self.key(slot): (made[slot], KEPT_SECONDS[slot.step]) for slot in part})
            found.update({slot: made[slot] for slot, is_new in zip(part, added, strict=True) if is_new})
            others = [slot for slot, is_new in zip(part, added, strict=True) if not is_new]
            found.update(zip(others, self._cache.get_many([self.key(slot) for slot in others]), strict=True))
        return [self._usable(slot, found[slot], settled) for slot in slots]

    def _usable(self, slot: Slot, token: bytes | None, settled: set[int]) -> bytes | None:
        group = slot_group_of(self._stream, slot.step, slot.start)
        return token if token != CHANGED and group in settled else None

    def _settled_groups(self) -> set[int]:
        """The groups that the cache has remembered for the settling time."""
        names = [slot_group(number) for number in range(SLOT_GROUPS)]
        found = self._cache.get_many(names)
        now = self._clock.now()
        missing = [name for name, since in zip(names, found, strict=True) if since is None]
        if missing:
            self._cache.add_many({name: (str(now).encode(), _SINCE_SECONDS) for name in missing})
        settled = now - (self._settle + SKEW_SECONDS) * times.SECOND
        return {number for number, since in enumerate(found) if since is not None and int(since) <= settled}
