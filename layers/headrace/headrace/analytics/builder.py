"""Builds the slots that are missing: minutes from rows, longer ones from shorter ones, each at most by one builder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from headrace.analytics.aggregate import Aggregate
from headrace.analytics.scanner import Deadline, Found, Reading, Scanner
from headrace.analytics.scope import Scope
from headrace.analytics.slot_cache import SlotCache, SlotState
from headrace.analytics.time_slots import DAY, HOUR, MINUTE, TEN_MINUTES, Slot, Span
from headrace.core import times

WAIT_SECONDS = 0.2
"""How long to wait for other builders, in all: less than a request may lose by the cache (P10)."""
_POLL_SECONDS = 0.02
YOUNG_SECONDS = {MINUTE: 6 * HOUR, TEN_MINUTES: DAY}
DENSE = 1000
"""Minutes and ten minutes that are only parts of longer slots are kept while they are young, or if they hold so many
events: a quiet month would make 50,000 of them, and is read again as fast."""
FIRST_CHUNK, LONGEST_CHUNK = 10, 1440
QUICK_SECONDS, SLOW_SECONDS = 0.5, 3.0
"""A chunk of minutes is read at once. The next is twice as long after a quick one, half as long after a slow one:
when the deadline comes, what was read is kept."""


class _Chunk(NamedTuple):
    """A chunk that is being read, its number of leaves, and when its reading began."""

    reading: Reading
    leaves: int
    began: float


@dataclass(slots=True)
class Node:
    """A slot and its state; missing ones have the ``parts`` that they are merged from."""

    state: SlotState
    asked: bool = False
    is_missing_day: bool = False
    token: bytes | None = None
    parts: list[Node] = field(default_factory=list)

    def missing(self) -> Iterator[Node]:
        """It and its missing parts, the longer slots first."""
        if not self.state.found:
            yield self
            for part in self.parts:
                yield from part.missing()


class Builder:
    """Builds the ``nodes`` of one request and the minutes of its two edges. A context manager.

    Call :meth:`before` first, then :meth:`slots`, then :meth:`after`.
    """

    def __init__(
        self,
        scanner: Scanner,
        scope: Scope,
        slots: SlotCache,
        nodes: Sequence[Node],
        edges: tuple[Span | None, Span | None],
        now: int,
        deadline: Deadline,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._scanner = scanner
        self._scope = scope
        self._slots = slots
        self._nodes = nodes
        self._spans = edges
        self._edges: list[Found] | None = None
        self._now = now // times.SECOND
        self._deadline = deadline
        self._sleep = sleep
        self._claimed: set[int] = set()
        self._foreign: set[int] = set()
        self._prepared = 0
        self._waits = int(WAIT_SECONDS / _POLL_SECONDS)
        self._chunk = FIRST_CHUNK
        self._reading: _Chunk | None = None
        self._read: Found = {}
        self._ahead: Iterator[Slot] = iter(())
        self._next: Slot | None = None

    def __enter__(self) -> Builder:
        return self

    def __exit__(self, *_: object) -> None:
        """Keep what was built, also if the deadline came."""
        if self._reading is not None:
            self._reading.reading.end()
        self._slots.flush()
        self._slots.release(self._claimed)

    def before(self) -> Iterator[tuple[Slot, Aggregate]]:
        """The minutes before the slots, the first one perhaps cut; those without events are left out."""
        return self._edge(0)

    def slots(self) -> Iterator[tuple[Slot, Aggregate]]:
        """Every slot. Raises StoreUnavailable if the table does not answer before the deadline."""
        for place, node in enumerate(self._nodes):
            if place == self._prepared:
                self._prepare()
            yield node.state.slot, self._aggregate(node)

    def after(self) -> Iterator[tuple[Slot, Aggregate]]:
        """The minutes after the slots, the last one perhaps cut."""
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
        """Find out what is missing from the next batch, which of it is ours to build, and with which tokens."""
        if self._reading is not None:
            self._finish()  # the edges: nothing was missing from the batch before
        batch = self._batch()
        level = [node for node in batch if not node.state.found]
        while level := [node for node in level if node.state.slot.step > MINUTE]:
            # Before its parts are looked at: what changes one of them from then on changes its token too.
            self._begin(level)
            level = self._expand(level)
        self._claim(batch)
        leaves = [leaf for top in batch for leaf in top.missing() if not leaf.parts]
        self._begin(leaves)
        self._ahead = iter([leaf.state.slot for leaf in leaves])
        self._next = next(self._ahead, None)
        # Whatever is known already is merged while this is read.
        if self._next is not None or (self._edges is None and any(self._spans)):
            self._start()

    def _batch(self) -> list[Node]:
        """The next nodes that are prepared together: a missing day is alone, for its parts fill memory."""
        batch: list[Node] = []
        for node in self._nodes[self._prepared :]:
            is_day = node.state.slot.step == DAY and not node.state.found
            if batch and (is_day or batch[-1].is_missing_day):
                break
            node.is_missing_day = is_day
            batch.append(node)
        self._prepared += len(batch)
        return batch

    def _begin(self, nodes: Sequence[Node]) -> None:
        for node, token in zip(nodes, self._slots.begin([node.state for node in nodes]), strict=True):
            node.token = token

    def _expand(self, nodes: Sequence[Node]) -> list[Node]:
        """Give missing nodes their parts; those that are missing too."""
        parts = [node.state.slot.parts() for node in nodes]
        known = iter(self._slots.read([slot for each in parts for slot in each]))
        for node, each in zip(nodes, parts, strict=True):
            node.parts = [Node(next(known)) for _ in each]
        return [part for node in nodes for part in node.parts if not part.state.found]

    def _claim(self, nodes: Sequence[Node]) -> None:
        """Claim what is to be read; what another one claimed is waited for, though not for long."""
        leaves = [node for top in nodes for node in top.missing() if not node.parts]
        ours = self._slots.claim([node.state.slot for node in leaves if _hour(node.state.slot) not in self._claimed])
        self._claimed |= ours
        others = [node for node in leaves if _hour(node.state.slot) not in self._claimed]
        while others and self._waits and not self._slots.is_unavailable:
            self._waits -= 1
            self._sleep(_POLL_SECONDS)
            for node, known in zip(others, self._slots.read([node.state.slot for node in others]), strict=True):
                node.state = known
            others = [node for node in others if not node.state.found]
        self._foreign = {_hour(node.state.slot) for node in others}

    def _aggregate(self, node: Node) -> Aggregate:
        """What there was in the node's slot; kept, if it may be."""
        slot = node.state.slot
        found = self._slots.take(node.state)
        if found is not None:
            return found
        if node.parts:
            made = Aggregate.nothing(len(self._scope.attributes))
            for part in node.parts:
                is_known = part.state.found
                made.merge(self._aggregate(part))
                if part.token is None and not is_known:
                    node.token = None
            node.parts = []
            made.mark(slot)
        else:
            made = self._leaf(slot)
            if _hour(slot) in self._foreign:
                node.token = None
        if node.token is not None and self._is_worth_keeping(node, made):
            self._slots.keep(slot, node.token, made)
        return made

    def _leaf(self, slot: Slot) -> Aggregate:
        """A minute from its rows; read together with those after it."""
        if self._reading is not None or slot == self._next:
            self._finish()
        return self._read.pop(slot.start, None) or Aggregate.nothing(len(self._scope.attributes))

    def _take_chunk(self) -> list[Slot]:
        """The next leaves that follow each other, as many as a chunk has."""
        chunk: list[Slot] = []
        while self._next is not None and len(chunk) < self._chunk:
            if chunk and self._next.start != chunk[-1].end:
                break
            chunk.append(self._next)
            self._next = next(self._ahead, None)
        return chunk

    def _start(self) -> None:
        """Begin to read the next chunk, and the edges with the first one."""
        chunk = self._take_chunk()
        spans = [Span(chunk[0].start * times.SECOND, chunk[-1].end * times.SECOND)] if chunk else []
        if self._edges is None:
            spans += [span for span in self._spans if span is not None]
        self._reading = _Chunk(self._scanner.start(self._scope, spans, self._deadline), len(chunk), time.monotonic())

    def _finish(self) -> None:
        """Have what was begun to be read, or is now."""
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
        elif took < QUICK_SECONDS and length == self._chunk:  # a shorter one says little about how long that takes
            self._chunk = min(LONGEST_CHUNK, self._chunk * 2)

    def _is_worth_keeping(self, node: Node, made: Aggregate) -> bool:
        young = YOUNG_SECONDS.get(node.state.slot.step)
        return node.asked or young is None or node.state.slot.end > self._now - young or made.total >= DENSE


def _hour(slot: Slot) -> int:
    return slot.start - slot.start % HOUR
