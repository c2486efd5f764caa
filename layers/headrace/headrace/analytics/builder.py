"""Builds missing slots: minutes from rows, longer slots from shorter ones; one builder at a time for each hour."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from headrace.analytics.aggregate import Aggregate
from headrace.analytics.requests import WindowRequest
from headrace.analytics.scanner import Found, Reading, Scanner
from headrace.analytics.slot_cache import SlotCache, SlotState
from headrace.analytics.time_slots import DAY, HOUR, MINUTE, TEN_MINUTES, Slot, Span
from headrace.core import times

WAIT_SECONDS = 0.2
"""How long to wait for other builders in all: less than the delay that the cache may cause (P10)."""
_POLL_SECONDS = 0.02
YOUNG_SECONDS = {MINUTE: 6 * HOUR, TEN_MINUTES: DAY}
DENSE = 1000
"""Minutes and ten minutes that are built for a longer slot are kept while they are young, or with at least so many
events. A quiet month has 50,000 of them, and reading its rows again takes no longer."""
FIRST_CHUNK, LONGEST_CHUNK = 10, 1440
QUICK_SECONDS, SLOW_SECONDS = 0.5, 3.0
"""Minutes are read in chunks: the next one is twice as long after a quick one, half as long after a slow one. At the
deadline, the chunks that were read are kept."""


class _Chunk(NamedTuple):
    """A chunk that is being read, its number of minutes, and when its reading began."""

    reading: Reading
    minutes: int
    began: float


class Window(NamedTuple):
    """The window of one request at ``now`` (microseconds): its slots, as found in the cache, and its edges."""

    request: WindowRequest
    now: int
    slots: SlotCache
    known: list[SlotState]
    edges: tuple[Span | None, Span | None]


class Builder:
    """Builds the ``requested`` slots of a window, and the minutes of its two edges. A context manager.

    Call :meth:`before` first, then :meth:`slots`, then :meth:`after`. A missing slot is a tree: its parts are slots of
    the next shorter step, down to minutes. All methods raise StoreUnavailable if the table does not answer before the
    deadline.
    """

    def __init__(
        self,
        scanner: Scanner,
        window: Window,
        requested: Sequence[SlotState],
        deadline: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._scanner = scanner
        self._scope = window.request.scope
        self._slots = window.slots
        self._requested = requested
        self._requested_slots = {state.slot for state in requested}
        self._spans = window.edges
        self._edges: list[Found] | None = None
        self._now = window.now // times.SECOND
        self._deadline = deadline
        self._sleep = sleep
        self._claimed: set[int] = set()
        self._foreign: set[int] = set()
        self._prepared = 0
        self._waits = int(WAIT_SECONDS / _POLL_SECONDS)
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
        self._slots.release(self._claimed)

    def before(self) -> Iterator[tuple[Slot, Aggregate]]:
        """The minutes before the slots, without those that have no events. The first one may begin later."""
        return self._edge(0)

    def slots(self) -> Iterator[tuple[Slot, Aggregate]]:
        """Every slot, in order."""
        for place, state in enumerate(self._requested):
            if place == self._prepared:
                self._prepare()
            yield state.slot, self._aggregate(state)

    def after(self) -> Iterator[tuple[Slot, Aggregate]]:
        """The minutes after the slots, without those that have no events. The last one may end earlier."""
        return self._edge(1)

    def _edge(self, which: int) -> Iterator[tuple[Slot, Aggregate]]:
        if self._spans[which] is None:
            return iter(())
        if self._edges is None:
            if not self._prepared:
                self._prepare()
            self._finish()
        assert self._edges is not None  # noqa: S101
        return ((Slot(start, MINUTE), found) for start, found in sorted(self._edges[which].items()))

    def _prepare(self) -> None:
        """Find the missing parts of the next batch, claim those to build here, and get their tokens."""
        if self._reading is not None:
            self._finish()  # the edges: nothing was missing from the batch before
        batch = self._batch()
        level = [state for state in batch if not state.found]
        while level := [state for state in level if state.slot.step > MINUTE]:
            # Before the parts are read: a later change of a part then changes this token too.
            self._slots.begin(level)
            level = self._expand(level)
        self._claim(batch)
        minutes = _missing_minutes(batch)
        self._slots.begin(minutes)
        self._ahead = deque(state.slot for state in minutes)
        # While this is read, the slots that were found are merged.
        if self._ahead or (self._edges is None and any(self._spans)):
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

    def _expand(self, missing: Sequence[SlotState]) -> list[SlotState]:
        """Read the parts of missing slots; returns those that are missing too."""
        parts = [state.slot.parts() for state in missing]
        known = iter(self._slots.read([slot for each in parts for slot in each]))
        for state, each in zip(missing, parts, strict=True):
            state.parts = list(islice(known, len(each)))
        return [part for state in missing for part in state.parts if not part.found]

    def _claim(self, batch: Sequence[SlotState]) -> None:
        """Claim the hours of missing minutes; wait for those that another builder claimed, but not for long."""
        minutes = _missing_minutes(batch)
        self._claimed |= self._slots.claim([state.slot for state in minutes if _hour(state.slot) not in self._claimed])
        others = [state for state in minutes if _hour(state.slot) not in self._claimed]
        while others and self._waits and not self._slots.is_unavailable:
            self._waits -= 1
            self._sleep(_POLL_SECONDS)
            self._slots.refresh(others)
            others = [state for state in others if not state.found]
        self._foreign = {_hour(state.slot) for state in others}

    def _aggregate(self, state: SlotState) -> Aggregate:
        """The aggregate of a slot; one that was built is kept, if it may be."""
        slot = state.slot
        found = self._slots.take(state)
        if found is not None:
            return found
        if state.parts:
            made = Aggregate.nothing(len(self._scope.attributes))
            for part in state.parts:
                is_known = part.found
                made.merge(self._aggregate(part))
                if part.token is None and not is_known:
                    state.token = None
            state.parts = []
            made.mark(slot)
        else:
            made = self._minute(slot)
            if _hour(slot) in self._foreign:
                state.token = None
        if state.token is not None and self._is_worth_keeping(slot, made):
            self._slots.keep(slot, state.token, made)
        return made

    def _minute(self, slot: Slot) -> Aggregate:
        """The aggregate of a minute from its rows, which are read together with those of the next minutes."""
        if self._reading is not None or (self._ahead and slot == self._ahead[0]):
            self._finish()
        return self._read.pop(slot.start, None) or Aggregate.nothing(len(self._scope.attributes))

    def _take_chunk(self) -> list[Slot]:
        """The next missing minutes without a gap between them, as many as a chunk may have."""
        chunk: list[Slot] = []
        while self._ahead and len(chunk) < self._chunk and not (chunk and self._ahead[0].start != chunk[-1].end):
            chunk.append(self._ahead.popleft())
        return chunk

    def _start(self) -> None:
        """Start to read the next chunk; the edges are read with the first one."""
        chunk = self._take_chunk()
        spans = [Span(chunk[0].start * times.SECOND, chunk[-1].end * times.SECOND)] if chunk else []
        if self._edges is None:
            spans += [span for span in self._spans if span is not None]
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
        if self._edges is None:
            self._edges = [next(found) if span is not None else {} for span in self._spans]

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


def _missing_minutes(batch: Sequence[SlotState]) -> list[SlotState]:
    return [state for top in batch for state in top.missing() if not state.parts]


def _hour(slot: Slot) -> int:
    return slot.start - slot.start % HOUR
