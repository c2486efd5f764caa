"""What all environments know together of what each sender sent lately: counts by age, and whether a limit is on.

An environment tells what it let through since it last told, and learns what everybody let through, in one round trip
for many senders. The cache has one hash per sender, gone with its window; ages are by the cache's own clock, so that
those of the environments need not agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.core.errors import CacheUnavailable
from headrace.ingest.sliding_window import STEP_SECONDS, WINDOW_SECONDS, Count, Limit

_STEP = int(STEP_SECONDS * 1000)
_WINDOW = int(WINDOW_SECONDS * 1000)

# A step that has left the window goes; the limit goes off at or below `few`, and on above `most` or when told so.
_SCRIPT = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local step, window, most, few = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
for at = 6, #ARGV, 2 do
  local slot = string.format('%d', math.floor((now - ARGV[at]) / step))
  redis.call('HINCRBY', KEYS[1], slot, ARGV[at + 1])
end
local fields = redis.call('HGETALL', KEYS[1])
local sum, on, known = 0, ARGV[5] == '1', {}
for at = 1, #fields, 2 do
  if fields[at] == 'on' then
    on = true
  else
    local ended = (tonumber(fields[at]) + 1) * step
    if ended + window <= now then
      redis.call('HDEL', KEYS[1], fields[at])
    else
      sum = sum + fields[at + 1]
      known[#known + 1] = now - ended
      known[#known + 1] = tonumber(fields[at + 1])
    end
  end
end
on = sum > few and (on or sum > most)
if on then redis.call('HSET', KEYS[1], 'on', 1) else redis.call('HDEL', KEYS[1], 'on') end
redis.call('PEXPIRE', KEYS[1], window + step)
return {on and 1 or 0, unpack(known)}
"""


@dataclass(frozen=True, slots=True)
class Told:
    """What one environment let through of one sender, under the sender's ``key``; ``is_on``: its limit is on."""

    key: str
    limit: Limit
    counts: Sequence[Count]
    is_on: bool


@dataclass(frozen=True, slots=True)
class Known:
    """What everybody let through of one sender, and whether its limit is on."""

    counts: Sequence[Count]
    is_on: bool


class RateSums(Protocol):
    """The sums of all environments."""

    def exchange(self, told: Sequence[Told]) -> list[Known]:
        """Add ``told``, and answer what is known of each of its senders, in order.

        Raises:
            CacheUnavailable: there was no answer; what was told may have been added or not.
        """
        ...


class Commands(Protocol):
    """What :class:`headrace.storage.redis.RedisCache` does."""

    def run(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The answers to ``commands``."""
        ...


class RedisRateSums:
    """:class:`RateSums` in Redis or Valkey."""

    def __init__(self, cache: Commands) -> None:
        self._cache = cache

    def exchange(self, told: Sequence[Told]) -> list[Known]:
        """Add ``told``, and answer what is known; one command on one key per sender, all in one round trip."""
        return [_known(answer) for answer in self._cache.run([_command(each) for each in told])]


def _command(told: Told) -> tuple[Any, ...]:
    counts = [value for age, events in told.counts for value in (int(age * 1000), events)]
    limit = (told.limit.most, told.limit.few, int(told.is_on))
    return ("EVAL", _SCRIPT, 1, told.key, _STEP, _WINDOW, *limit, *counts)


def _known(answer: Sequence[int]) -> Known:
    is_on, *counts = answer
    pairs = zip(counts[::2], counts[1::2], strict=True)
    return Known([(age / 1000, events) for age, events in pairs], bool(is_on))


class MemoryRateSums:
    """:class:`RateSums` in memory, for tests. ``down``: they are away. ``calls`` counts round trips."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._slots: dict[str, dict[int, int]] = {}
        self._on: set[str] = set()
        self.down = False
        self.calls = 0

    def exchange(self, told: Sequence[Told]) -> list[Known]:
        """Add ``told``, and answer what is known."""
        if self.down:
            raise CacheUnavailable("the cache is away")
        self.calls += 1
        return [self._exchange(each) for each in told]

    def _exchange(self, told: Told) -> Known:
        now = self._clock()
        slots = self._slots.setdefault(told.key, {})
        for age, events in told.counts:
            slot = math.floor((now - age) / STEP_SECONDS)
            slots[slot] = slots.get(slot, 0) + events
        ages = {slot: now - (slot + 1) * STEP_SECONDS for slot in slots}
        self._slots[told.key] = {slot: events for slot, events in slots.items() if ages[slot] < WINDOW_SECONDS}
        counts = [(ages[slot], events) for slot, events in self._slots[told.key].items()]
        total = sum(events for _, events in counts)
        is_on = told.is_on or told.key in self._on or total > told.limit.most
        (self._on.add if is_on and total > told.limit.few else self._on.discard)(told.key)
        return Known(counts, told.key in self._on)
