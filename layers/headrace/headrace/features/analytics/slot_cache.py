"""Keeps aggregates of slots in the cache and in this environment's memory; they are valid for one generation."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from headrace.core import times
from headrace.core.collections import slices
from headrace.core.errors import CacheUnavailable
from headrace.core.times import Clock
from headrace.features.analytics.aggregate import Aggregate, UnknownLayout, check, decode, encode
from headrace.features.analytics.generations import (
    CHANGED,
    KEPT_SECONDS,
    SLICE,
    TOKEN_BYTES,
    Generations,
    slot_aggregate,
    slot_generation,
)
from headrace.features.analytics.requests import WindowRequest
from headrace.features.analytics.time_slots import Slot
from headrace.runtime.observability import report
from headrace.storage.redis import Cache

STORE_BYTES = 1_000_000
MEMORY_BYTES = 16_000_000
"""The size of the aggregates in memory, as encoded; decoded, they take up to ten times as much."""
NARROWED_SHARE = 4
"""Aggregates of one user or group are kept for a quarter of the time: there may be very many of them."""

T = TypeVar("T")


@dataclass(slots=True)
class SlotState:
    """A slot with its cache ``key`` and its ``generation`` and, if it was found, its aggregate.

    A slot that is cut by the window is kept in memory alone: other windows cut it elsewhere.
    An aggregate from the cache stays ``packed`` until it is needed: many decoded ones would not fit into memory.
    A missing aggregate is merged from the ``parts``, and is kept if the slot has a ``token``. The aggregate that was
    found or kept is of the generation ``kept``.
    """

    slot: Slot
    key: str
    is_cut: bool = False
    generation: bytes | None = None
    aggregate: Aggregate | None = None
    packed: bytes | None = None
    token: bytes | None = None
    kept: bytes | None = None
    parts: list[SlotState] = field(default_factory=list)

    @property
    def found(self) -> bool:
        """Whether the aggregate was found."""
        return self.aggregate is not None or self.packed is not None

    def missing(self) -> Iterator[SlotState]:
        """This slot if it is missing, and then its missing parts: longer slots come first."""
        if not self.found:
            yield self
            for part in self.parts:
                yield from part.missing()


class LocalAggregates:
    """The most recently used aggregates of this environment, with their generations."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, tuple[bytes, Aggregate, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str, generation: bytes | None) -> Aggregate | None:
        """The aggregate, if it has this ``generation``."""
        held = self._held.get(key)
        if held is None or held[0] != generation:
            return None
        self._held.move_to_end(key)
        return held[1]

    def has(self, key: str) -> bool:
        """Whether there is an aggregate of any generation."""
        return key in self._held

    def put(self, key: str, generation: bytes, aggregate: Aggregate, size: int) -> None:
        """Keep ``aggregate``; the least recently used ones are dropped."""
        self._bytes += size - (self._held.pop(key)[2] if key in self._held else 0)
        self._held[key] = (generation, aggregate, size)
        while self._bytes > MEMORY_BYTES:
            self._bytes -= self._held.popitem(last=False)[1][2]


class SlotCache:
    """The slots of one request. After a failure, the request continues without the cache (P10)."""

    def __init__(self, cache: Cache, local: LocalAggregates, request: WindowRequest, clock: Clock) -> None:
        self._cache = cache
        self._local = local
        self._scope = request.scope
        self._window = request.window
        self._shards = request.scope.shards
        self._clock = clock
        self._generations = Generations(cache, request.scope.stream.name, clock)
        self._waiting: dict[str, tuple[bytes, float]] = {}
        self._bytes = 0
        self.is_unavailable = False

    def read(self, slots: Sequence[Slot]) -> list[SlotState]:
        """The state of each of ``slots``; nothing is found while the cache is unavailable."""
        known = [self._state(slot) for slot in slots]
        self.refresh(known)
        return known

    def refresh(self, known: Sequence[SlotState]) -> None:
        """Read again those slots that were not found."""
        for part in slices(known, SLICE):
            self._attempt(functools.partial(self._read, part))

    def take(self, known: SlotState) -> Aggregate | None:
        """The aggregate of a slot, removed from its state; ``None`` if it was not found."""
        found, packed = known.aggregate, known.packed
        known.aggregate = known.packed = None
        if packed is not None and known.generation is not None:
            found = decode(packed[TOKEN_BYTES:])
            self._local.put(known.key, known.generation, found, len(packed))
        return found

    def begin(self, missing: Sequence[SlotState]) -> None:
        """Set the tokens of slots whose rows are read from now on. A slot that may not be kept gets none."""
        slots, generations = [each.slot for each in missing], [each.generation for each in missing]
        tokens = self._attempt(lambda: self._generations.begin(slots, generations)) if missing else None
        for each, token in zip(missing, tokens or [None] * len(missing), strict=True):
            each.token = token

    def keep(self, made: SlotState, token: bytes, aggregate: Aggregate) -> None:
        """Keep ``aggregate`` for ``token``'s generation, in memory now and in the cache after :meth:`flush`."""
        data = token + encode(aggregate, self._shards)
        made.kept = token
        self._local.put(made.key, token, aggregate, len(data))
        if made.is_cut:
            return
        share = NARROWED_SHARE if self._scope.narrowed else 1
        self._waiting[made.key] = (data, KEPT_SECONDS[made.slot.step] / share)
        self._bytes += len(data)
        if self._bytes > STORE_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the kept aggregates to the cache; best effort."""
        waiting, self._waiting, self._bytes = self._waiting, {}, 0
        if waiting:
            self._attempt(lambda: self._cache.set_many(waiting))

    def _attempt(self, call: Callable[[], T]) -> T | None:
        """The result of ``call``; ``None`` if the cache is unavailable."""
        if self.is_unavailable:
            return None
        try:
            return call()
        except CacheUnavailable:
            self.is_unavailable = True
            self._waiting.clear()
            report("analytics cache", "the cache is unavailable: analytics are read from the table alone")
            return None

    def _read(self, known: Sequence[SlotState]) -> None:
        unheld = [each for each in known if not self._local.has(each.key)]
        found = self._cache.get_many(
            [slot_generation(self._scope.stream.name, each.slot) for each in known] + [each.key for each in unheld]
        )
        for each, generation in zip(known, found, strict=False):
            each.generation = generation
            held = self._local.get(each.key, generation)
            each.aggregate = None if held is None or self._has_expired(held.expires) else held
        # Rarely, an aggregate in memory is of an earlier generation.
        again = [each for each in known if self._local.has(each.key) and each.aggregate is None and _token(each)]
        values = found[len(known) :] + self._cache.get_many([each.key for each in again])
        for each, value in zip([*unheld, *again], values, strict=True):
            if value is not None and self._is_valid(each, value):
                each.packed = value
        for each in known:
            each.kept = each.generation if each.found else None

    def _is_valid(self, known: SlotState, value: bytes) -> bool:
        """Whether ``value`` is an aggregate of the slot's generation, and none of its rows has expired."""
        if value[:TOKEN_BYTES] != _token(known):
            return False
        try:
            return not self._has_expired(check(value[TOKEN_BYTES:], len(self._scope.attributes), self._shards))
        except UnknownLayout:
            return False

    def _has_expired(self, expires: int) -> bool:
        return 0 < expires <= self._clock.now() // times.SECOND

    def _state(self, slot: Slot) -> SlotState:
        key, part = self._key(slot), slot.span.within(self._window)
        return SlotState(slot, key) if part == slot.span else SlotState(slot, f"{key}#{part.start}#{part.end}", True)

    def _key(self, slot: Slot) -> str:
        return slot_aggregate(self._scope.name, slot, self._scope.narrowed)


def _token(known: SlotState) -> bytes | None:
    return None if known.generation in (None, CHANGED) else known.generation
