"""Aggregates of slots in the cache, and in this environment's memory: found while their generation lasts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from headrace.analytics import generations
from headrace.analytics.aggregate import Aggregate
from headrace.analytics.codec import UnknownLayout, check, decode, encode
from headrace.analytics.generations import CHANGED, KEPT_SECONDS, SLICE, TOKEN_BYTES, Generations
from headrace.analytics.scope import Scope
from headrace.analytics.time_slots import HOUR, Slot
from headrace.core import times
from headrace.core.errors import CacheUnavailable
from headrace.core.times import Clock
from headrace.runtime.observability import report
from headrace.storage.cache import Cache

BUILDER_SECONDS = 10.0
"""How long others wait for a builder that crashed."""
STORE_BYTES = 1_000_000
MEMORY_BYTES = 16_000_000
"""Encoded bytes of the aggregates in memory; decoded they take up to ten times as much."""
NARROWED_SHARE = 4
"""Narrowed aggregates are kept for a part of the time: there may be as many as rooms and users."""

Key = tuple[str, Slot]


@dataclass(slots=True)
class SlotState:
    """A slot with its ``generation`` and, if it was found, its aggregate.

    From the cache it comes ``packed``, and stays so until it is needed: many decoded ones would not fit into memory.
    """

    slot: Slot
    generation: bytes | None = None
    aggregate: Aggregate | None = None
    packed: bytes | None = None

    @property
    def found(self) -> bool:
        """Whether there is an aggregate."""
        return self.aggregate is not None or self.packed is not None


class LocalAggregates:
    """The aggregates that this environment used last, with their generations."""

    def __init__(self, limit: int = MEMORY_BYTES) -> None:
        self._limit = limit
        self._held: OrderedDict[str, tuple[bytes, Aggregate, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str, generation: bytes | None) -> Aggregate | None:
        """The aggregate, if it is of that ``generation``."""
        held = self._held.get(key)
        if held is None or held[0] != generation:
            return None
        self._held.move_to_end(key)
        return held[1]

    def has(self, key: str) -> bool:
        """Whether there is one, of any generation."""
        return key in self._held

    def put(self, key: str, generation: bytes, aggregate: Aggregate, size: int) -> None:
        """Keep ``aggregate``; the least recently used ones are dropped."""
        self._bytes += size - (self._held.pop(key)[2] if key in self._held else 0)
        self._held[key] = (generation, aggregate, size)
        while self._bytes > self._limit:
            self._bytes -= self._held.popitem(last=False)[1][2]


class SlotCache:
    """The slots of one scope during one request. After a failure, the rest of it does without the cache (P10)."""

    def __init__(
        self, cache: Cache, local: LocalAggregates, scope: Scope, read_shards: int, clock: Clock, settle: float
    ) -> None:
        self._cache = cache
        self._local = local
        self._scope = scope
        self._shards = scope.shards(read_shards)
        self._clock = clock
        self._generations = Generations(cache, scope.stream.name, clock, settle)
        self._kept = {
            step: seconds / (NARROWED_SHARE if scope.narrowed else 1) for step, seconds in KEPT_SECONDS.items()
        }
        self._waiting: dict[str, tuple[bytes, float]] = {}
        self._bytes = 0
        self.is_unavailable = False

    def read(self, slots: Sequence[Slot]) -> list[SlotState]:
        """The state of each of ``slots``; nothing is found while the cache is unavailable."""
        known = [SlotState(slot) for slot in slots]
        for part in (known[at : at + SLICE] for at in range(0, len(known), SLICE)):
            if self.is_unavailable:
                break
            try:
                self._read(part)
            except CacheUnavailable:
                self._failed()
        return known

    def take(self, known: SlotState) -> Aggregate | None:
        """The aggregate of a slot, removed from its state; ``None`` if there is none."""
        found, packed = known.aggregate, known.packed
        known.aggregate = known.packed = None
        if packed is not None and known.generation is not None:
            found = decode(packed[TOKEN_BYTES:])
            self._local.put(self._key(known.slot), known.generation, found, len(packed))
        return found

    def begin(self, known: Sequence[SlotState]) -> list[bytes | None]:
        """Tokens with which aggregates of these slots may be kept, if their rows are read from now on."""
        if known and not self.is_unavailable:
            try:
                return self._generations.begin([each.slot for each in known], [each.generation for each in known])
            except CacheUnavailable:
                self._failed()
        return [None] * len(known)

    def keep(self, slot: Slot, token: bytes, aggregate: Aggregate) -> None:
        """Keep ``aggregate`` for ``token``'s generation, in memory now and in the cache after :meth:`flush`."""
        data = token + encode(aggregate, self._shards)
        key = self._key(slot)
        self._local.put(key, token, aggregate, len(data))
        self._waiting[key] = (data, self._kept[slot.step])
        self._bytes += len(data)
        if self._bytes > STORE_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write to the cache what is to be kept; best effort."""
        waiting, self._waiting, self._bytes = self._waiting, {}, 0
        if waiting and not self.is_unavailable:
            try:
                self._cache.set_many(waiting)
            except CacheUnavailable:
                self._failed()

    def claim(self, slots: Iterable[Slot]) -> set[int]:
        """The hours (their starts) of ``slots`` that the caller builds; another environment builds the others."""
        hours = sorted({slot.start - slot.start % HOUR for slot in slots})
        if self.is_unavailable or not hours:
            return set(hours)
        try:
            added = self._cache.add_many({self._builder(hour): (b"1", BUILDER_SECONDS) for hour in hours})
        except CacheUnavailable:
            self._failed()
            return set(hours)
        return {hour for hour, is_ours in zip(hours, added, strict=True) if is_ours}

    def release(self, hours: Collection[int]) -> None:
        """Give up the claim to these hours."""
        if hours and not self.is_unavailable:
            try:
                self._cache.delete_many([self._builder(hour) for hour in hours])
            except CacheUnavailable:
                self._failed()

    def _read(self, known: Sequence[SlotState]) -> None:
        named = [(each, self._key(each.slot)) for each in known]
        unheld = [(each, key) for each, key in named if not self._local.has(key)]
        found = self._cache.get_many(
            [self._generations.key(each.slot) for each, _ in named] + [key for _, key in unheld]
        )
        for (each, key), generation in zip(named, found, strict=False):
            each.generation = generation
            each.aggregate = self._unexpired(self._local.get(key, generation))
        # Rarely: held in memory, but of an earlier generation.
        again = [pair for pair in named if self._local.has(pair[1]) and pair[0].aggregate is None and _token(pair[0])]
        values = found[len(named) :] + self._cache.get_many([key for _, key in again])
        for (each, _), value in zip([*unheld, *again], values, strict=True):
            if value is not None and self._is_valid(each, value):
                each.packed = value

    def _is_valid(self, known: SlotState, value: bytes) -> bool:
        """Whether ``value`` is an aggregate of the slot's generation, and none of its rows has expired since."""
        if value[:TOKEN_BYTES] != _token(known):
            return False
        try:
            expires = check(value[TOKEN_BYTES:], len(self._scope.attributes), self._shards)
        except UnknownLayout:
            return False
        return not 0 < expires <= self._clock.now() // times.SECOND

    def _unexpired(self, aggregate: Aggregate | None) -> Aggregate | None:
        """``aggregate``, unless a row of it has expired since."""
        if aggregate is not None and 0 < aggregate.expires <= self._clock.now() // times.SECOND:
            return None
        return aggregate

    def _key(self, slot: Slot) -> str:
        return generations.slot_aggregate(self._scope.stream.name, slot.step, slot.start, self._scope.narrowed)

    def _builder(self, hour: int) -> str:
        return generations.slot_builder(self._scope.stream.name, hour, self._scope.narrowed)

    def _failed(self) -> None:
        self.is_unavailable = True
        self._waiting.clear()
        report("analytics cache", "the cache is unavailable: analytics come from the table alone")


def _token(known: SlotState) -> bytes | None:
    return None if known.generation in (None, CHANGED) else known.generation
