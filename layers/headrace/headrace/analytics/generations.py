"""Whether an aggregate of a slot may still be believed, and whether a new one may be kept.

Every slot has a *generation* in the cache: a random token, made by whoever reads the slot first. An aggregate carries
the token that was there before its rows were read, and counts only while that is still there. Who stores a late event
puts ``CHANGED`` in its place for the settling time (:mod:`headrace.analytics.late`). So

- a late event ends every aggregate of its slots, whatever it was narrowed to;
- an aggregate whose reading raced with the event carries a token that never comes back;
- while ``CHANGED`` is there the index may still lack the event, and nothing is kept;
- a generation that the cache lost validates nothing: the next token is another one.

A cache that was emptied has forgotten which slots changed a moment ago. So each group of slots (which are lost
together) has a mark of when it was made, and nothing is kept until that is older than the settling time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from headrace.analytics import slot_keys
from headrace.analytics.steps import DAY, HOUR, MINUTE, TEN_MINUTES, Slot
from headrace.core import times
from headrace.core.times import Clock
from headrace.storage.cache import Cache

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
    """A generation that never was."""
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
        return slot_keys.slot_generation(self._stream, slot.step, slot.start)

    def begin(self, slots: Sequence[Slot], known: Sequence[bytes | None]) -> list[bytes | None]:
        """A token for each of ``slots``, with which what is read from now on may be kept; ``None`` where not.

        ``known`` are their generations as seen last; those that are missing are made.

        Raises:
            CacheUnavailable: the cache is away.
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
        group = slot_keys.slot_group_of(self._stream, slot.step, slot.start)
        return token if token != CHANGED and group in settled else None

    def _settled_groups(self) -> set[int]:
        """The groups that the cache has remembered for the settling time."""
        names = [slot_keys.slot_group(number) for number in range(slot_keys.SLOT_GROUPS)]
        found = self._cache.get_many(names)
        now = self._clock.now()
        missing = [name for name, since in zip(names, found, strict=True) if since is None]
        if missing:
            self._cache.add_many({name: (str(now).encode(), _SINCE_SECONDS) for name in missing})
        settled = now - (self._settle + SKEW_SECONDS) * times.SECOND
        return {number for number, since in enumerate(found) if since is not None and int(since) <= settled}
