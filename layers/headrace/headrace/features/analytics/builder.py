"""Builds missing slots: short ones from rows, longer ones from shorter ones."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from headrace.core import times
from headrace.features.analytics.aggregate import Aggregate
from headrace.features.analytics.generations import KEPT_SECONDS
from headrace.features.analytics.requests import WindowRequest
from headrace.features.analytics.scanner import Found, Reading, Scanner
from headrace.features.analytics.slot_cache import SlotCache, SlotState
from headrace.features.analytics.time_slots import DAY, HOUR, MINUTE, TEN_MINUTES, TEN_SECONDS, Slot, Span

YOUNG_SECONDS = {TEN_SECONDS: 0, MINUTE: 6 * HOUR, TEN_MINUTES: DAY}
DENSE = 1000
"""Slots of these steps that are built for a longer slot are kept while they are young, or with at least so many events.
A quiet month has 50,000 of them, and reading its rows again takes no longer."""
FIRST_CHUNK, LONGEST_CHUNK = 10, 1440
QUICK_SECONDS, SLOW_SECONDS = 0.5, 3.0
"""Rows are read in chunks of slots: the next one is twice as long after a quick one, half as long after a slow one. At
the deadline, the chunks that were read are kept."""


class _Chunk(NamedTuple):
    """A chunk that is being read, its number of slots, and when its reading began."""

    reading: Reading
    slots: int
    began: float


@dataclass(slots=True)
class Tail:
    """What is not closed of a window at ``now`` (microseconds), and its aggregates by minute once it was read."""

    now: int
    span: Span | None
    found: Found | None = None


class Window(NamedTuple):
    """The window of one request: its slots, as found in the cache, and its tail."""

    request: WindowRequest
    slots: SlotCache
    known: list[SlotState]
    tail: Tail


class Builder:
    """Builds the ``requested`` slots of a window, and reads its tail. A context manager.

    Call :meth:`slots` first, then :meth:`tail`. A missing slot is a tree: its parts are slots of the next shorter step,
    down to those that are read from rows. All methods raise StoreUnavailable if the table does not answer before the
    deadline.
    """

    def __init__(self, scanner: Scanner, window: Window, requested: Sequence[SlotState], deadline: float) -> None:
        self._scanner = scanner
        self._scope = window.request.scope
        self._window = window.request.window
        self._slots = window.slots
        self._requested = requested
        self._requested_slots = {state.slot for state in requested}
        self._tail = window.tail
        self._now = window.tail.now // times.SECOND
        self._deadline = deadline
        self._prepared = 0
        self._chunk = FIRST_CHUNK
        self._reading: _Chunk | None = None
        self._read: Found = {}
        self._ahead: deque[Slot] = deque()

    def __enter__(self) -> Builder:
        return self

    def __exit__(self, *_: object) -> None:
        """Keep the slots that were built, also after an error."""
        if self._reading is not None:
            self._reading.reading.end()
        self._slots.flush()

    def slots(self) -> Iterator[tuple[Slot, Aggregate]]:
        """Every slot, in order."""
        for place, state in enumerate(self._requested):
            if place == self._prepared:
                self._prepare()
            yield state.slot, self._aggregate(state)

    def tail(self) -> Iterator[tuple[Slot, Aggregate]]:
        """The minutes of the tail, without those that have no events. The window may cut the first and the last."""
        if self._unread_tail is not None:
            self._finish()
        return ((Slot(start, MINUTE), found) for start, found in sorted((self._tail.found or {}).items()))

    @property
    def _unread_tail(self) -> Span | None:
        return self._tail.span if self._tail.found is None else None

    def _prepare(self) -> None:
        """Find the missing parts of the next batch, and get their tokens."""
        if self._reading is not None:
            self._finish()  # the tail: nothing was missing from the batch before
        batch = self._batch()
        level = [state for state in batch if not state.found]
        while level := [state for state in level if self._has_parts(state.slot)]:
            # Before the parts are read: a later change of a part then changes this token too.
            self._slots.begin(level)
            level = self._expand(level)
        unread = _unread(batch)
        self._slots.begin([state for state in unread if state.token is None])
        self._ahead = deque(state.slot for state in unread)
        # While this is read, the slots that were found are merged.
        if self._ahead or self._unread_tail is not None:
            self._start()

    def _batch(self) -> list[SlotState]:
        """The next slots that are prepared together: a missing day is alone, because its parts fill memory."""
        batch: list[SlotState] = []
        for state in self._requested[self._prepared :]:
            if batch and (_is_missing_day(state) or _is_missing_day(batch[-1])):
                break
            batch.append(state)
        self._prepared += len(batch)
        return batch

    def _has_parts(self, slot: Slot) -> bool:
        """Whether a missing slot may be merged from shorter ones: a minute only while its ten seconds are kept."""
        is_recent = slot.end > self._now - KEPT_SECONDS[TEN_SECONDS]
        return slot.step > MINUTE or (slot.step == MINUTE and is_recent)

    def _expand(self, missing: Sequence[SlotState]) -> list[SlotState]:
        """Read the parts of missing slots; returns those that are missing too."""
        parts = [state.slot.parts() for state in missing]
        known = iter(self._slots.read([slot for each in parts for slot in each]))
        for state, each in zip(missing, parts, strict=True):
            found = list(islice(known, len(each)))
            # The rows of a minute are read together, unless some of them were counted before.
            if state.slot.step > MINUTE or any(part.found for part in found):
                state.parts = found
        return [part for state in missing for part in state.parts if not part.found]

    def _aggregate(self, state: SlotState) -> Aggregate:
        """The aggregate of a slot; one that was built is kept, if it may be."""
        slot = state.slot
        found = self._slots.take(state)
        if found is not None:
            return found
        if state.parts:
            made = self._scope.nothing()
            for part in state.parts:
                is_known = part.found
                made.merge(self._aggregate(part))
                if part.token is None and not is_known:
                    state.token = None
            state.parts = []
            made.mark(slot)
        else:
            made = self._counted(slot)
        if state.token is not None and self._is_worth_keeping(slot, made):
            self._slots.keep(state, state.token, made)
        return made

    def _counted(self, slot: Slot) -> Aggregate:
        """The aggregate of a slot from its rows, which are read together with those of the next slots."""
        if self._reading is not None or (self._ahead and slot == self._ahead[0]):
            self._finish()
        return self._read.pop(slot.start, None) or self._scope.nothing()

    def _take_chunk(self) -> list[Slot]:
        """The next slots of one step without a gap between them, as many as a chunk may have."""
        chunk = [self._ahead.popleft()] if self._ahead else []
        while self._ahead and len(chunk) < self._chunk and self._ahead[0] == Slot(chunk[-1].end, chunk[-1].step):
            chunk.append(self._ahead.popleft())
        return chunk

    def _start(self) -> None:
        """Start to read the next chunk; the tail is read with the first one."""
        chunk = self._take_chunk()
        spans = [(Span(chunk[0].span.start, chunk[-1].span.end).within(self._window), chunk[0].step)] if chunk else []
        if self._unread_tail is not None:
            spans.append((self._unread_tail, MINUTE))
        self._reading = _Chunk(self._scanner.start(self._scope, spans, self._deadline), len(chunk), time.monotonic())

    def _finish(self) -> None:
        """Wait for the chunk that is being read; start one if there is none."""
        if self._reading is None:
            self._start()
        assert self._reading is not None  # noqa: S101
        reading, length, began = self._reading
        found = iter(reading.result())
        self._reading = None
        if length:
            self._read = next(found)
            self._resize(length, time.monotonic() - began)
        if self._unread_tail is not None:
            self._tail.found = next(found)

    def _resize(self, length: int, took: float) -> None:
        if took > SLOW_SECONDS:
            self._chunk = max(1, length // 2)
        elif took < QUICK_SECONDS and length == self._chunk:  # the time of a shorter one says little
            self._chunk = min(LONGEST_CHUNK, self._chunk * 2)

    def _is_worth_keeping(self, slot: Slot, made: Aggregate) -> bool:
        young = YOUNG_SECONDS.get(slot.step)
        is_requested = slot in self._requested_slots
        return is_requested or young is None or slot.end > self._now - young or made.total >= DENSE


def _is_missing_day(state: SlotState) -> bool:
    return state.slot.step == DAY and not state.found


def _unread(batch: Sequence[SlotState]) -> list[SlotState]:
    """The missing slots whose rows must be read."""
    return [state for top in batch for state in top.missing() if not state.parts]
