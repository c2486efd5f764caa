"""Counts of a resort's day in Redis or Valkey: one hash per day, changed by scripts that touch that one key.

Fields: ``g`` generation, ``t`` since, ``s`` stage, ``u`` until, ``c`` time of the last progress, ``n`` number of
skiers; ``l`` + lift, ``h`` + hour and ``k`` + skier hold counts of rides. A counted ride has an empty field ``r`` +
mark; one that was taken back has ``-`` there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.collections import slices
from headrace.features.ski.day_counts import HOURS, MINUTES, CountedRide, Counts, Coverage
from headrace.features.ski.stream import ResortDay, day_counts
from headrace.storage.redis import Cache

RIDES_PER_SCRIPT = 500
_HOUR_FIELDS = [f"h{hour}" for hour in range(HOURS)]
_BEGIN = """
local found = redis.call('HMGET', KEYS[1], 'g', 't', 's', 'c')
if found[1] and tonumber(found[2]) > tonumber(ARGV[3]) then
  if found[3] ~= 'filling' or ARGV[2] - found[4] < tonumber(ARGV[4]) then return 0 end
end
redis.call('UNLINK', KEYS[1])
redis.call('HSET', KEYS[1], 'g', ARGV[1], 't', ARGV[2], 'c', ARGV[2], 's', 'filling', 'u', ARGV[5])
redis.call('PEXPIREAT', KEYS[1], ARGV[5])
return 1
"""

_ADD = """
local key, generation = KEYS[1], redis.call('HGET', KEYS[1], 'g')
if not generation or (ARGV[1] ~= '' and ARGV[1] ~= generation) then return 0 end
if ARGV[1] ~= '' then redis.call('HSET', key, 'c', ARGV[2]) end
local rides, skiers, lifts, hours, is_taken_back = {}, {}, {}, {}, {}
for skier, lift, hour, sign in string.gmatch(ARGV[4], '(%S+) (%d+) (%d+)(%-?)') do
  local at = #rides + 1
  rides[at] = 'r' .. string.sub(ARGV[3], 12 * at - 11, 12 * at)
  skiers[at], lifts[at], hours[at], is_taken_back[at] = 'k' .. skier, 'l' .. lift, 'h' .. hour, sign == '-'
end
local old_rides, old_skiers = redis.call('HMGET', key, unpack(rides)), redis.call('HMGET', key, unpack(skiers))
local new, sums = {}, {}
local function count(field, by) sums[field] = (sums[field] or 0) + by end
local function count_ride(at, by)
  local skier = skiers[at]
  local before = new[skier] or tonumber(old_skiers[at]) or (old_skiers[at] and 1 or 0)
  new[skier] = before + by
  count(lifts[at], by)
  count(hours[at], by)
  if before == 0 then count('n', 1) elseif before + by == 0 then count('n', -1) end
end
for at, ride in ipairs(rides) do
  local old = new[ride] or old_rides[at]
  if is_taken_back[at] then
    if old == '' then count_ride(at, -1) end
    new[ride] = '-'
  elseif not old then
    new[ride] = ''
    count_ride(at, 1)
  end
end
local changed = {}
for field, value in pairs(new) do
  changed[#changed + 1] = field
  changed[#changed + 1] = value
end
if #changed > 0 then redis.call('HSET', key, unpack(changed)) end
for field, number in pairs(sums) do redis.call('HINCRBY', key, field, number) end
return 1
"""

_SETTLE = """
local found = redis.call('HMGET', KEYS[1], 'g', 'u')
if found[1] ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 's', ARGV[2], 'c', 0)
if tonumber(ARGV[3]) < tonumber(found[2]) then
  redis.call('HSET', KEYS[1], 'u', ARGV[3])
  redis.call('PEXPIREAT', KEYS[1], ARGV[3])
end
return 1
"""


class DayCounts:
    """Counts by resort's day: one round trip per call, however many days.

    Times are in epoch milliseconds. Every method may raise CacheUnavailable.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def read(self, day: ResortDay, lifts: Sequence[int] = ()) -> tuple[Coverage, Counts] | None:
        """The current counts, with those of ``lifts`` only; ``None`` if the day has none."""
        fields = ["g", "t", "s", "n", *_HOUR_FIELDS, *(f"l{lift}" for lift in lifts)]
        (found,) = self._cache.run([("HMGET", day_counts(day), *fields)])
        generation, since, stage, skiers, *counts = found
        if generation is None:
            return None
        numbers = [int(count or 0) for count in counts]
        by_lift = dict(zip(lifts, numbers[HOURS:], strict=True))
        return Coverage(generation.decode(), int(since), stage.decode()), Counts(
            int(skiers or 0), by_lift, numbers[:HOURS]
        )

    def begin(self, day: ResortDay, generation: str, now: int, after: int, patience: int, until: int) -> bool:
        """Start empty counts that expire at ``until``. Returns whether the caller has to fill them.

        Existing counts stay when they were started after ``after``, and are filled or made progress less than
        ``patience`` ago.
        """
        return self._script(_BEGIN, day, generation, now, after, patience, until)

    def add(
        self, rides: Sequence[tuple[ResortDay, Sequence[CountedRide]]], generation: str | None = None, now: int = 0
    ) -> bool:
        """Add rides to the counts of their days, where there are any. Returns whether all of the days had counts.

        A ride counts once, and no longer after one that is ``taken_back``, in whatever order they come.

        A caller that fills or confirms counts names their ``generation``, which also records its progress at ``now``.
        """
        commands = [
            (*_on(_ADD, day), generation or "", now, *_arguments(part))
            for day, each in rides
            for part in slices(each, RIDES_PER_SCRIPT)
        ]
        return all(self._cache.run(commands))

    def settle(self, day: ResortDay, generation: str, stage: str, until: int) -> None:
        """Set the stage of the counts, and let them expire at ``until`` at the latest."""
        self._script(_SETTLE, day, generation, stage, until)

    def _script(self, script: str, day: ResortDay, *arguments: Any) -> bool:
        return bool(self._cache.run([(*_on(script, day), *arguments)])[0])


def _on(script: str, day: ResortDay) -> tuple[Any, ...]:
    return "EVAL", script, 1, day_counts(day)


def _arguments(rides: Sequence[CountedRide]) -> list[Any]:
    # Two arguments for all rides: the client needs longer for an argument than Redis for a ride.
    texts = [f"{ride.skier} {ride.lift} {ride.time // MINUTES}{'-' if ride.taken_back else ''}" for ride in rides]
    return [b"".join([ride.mark for ride in rides]), " ".join(texts)]
