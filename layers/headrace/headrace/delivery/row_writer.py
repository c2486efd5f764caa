"""Writes rows into their tables and runs the hooks on the rows that are stored."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.metrics import MetricUnit

from headrace.core import times
from headrace.core.errors import FollowUpUnavailable, Lane, PoisonRecord, StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import Hook, Reason, Stream, TableSettings
from headrace.core.times import Clock
from headrace.delivery.records import Record, Row
from headrace.runtime.observability import Meter, logger, report
from headrace.stage.registry import STREAMS
from headrace.storage.ports import EXISTS, Store, Table

if TYPE_CHECKING:
    from headrace.core.people import FindErased


@dataclass(frozen=True, slots=True)
class Failed:
    """An event to retry, the index of its record, and why."""

    record: int
    event: dict[str, Any]
    reason: Reason


_Placed = tuple[int, Row]
"""The row of an event, after the index of its record."""
Hooks = Sequence[tuple[str, Hook]]
"""Hooks in the order in which they run, each after the kind of rows that it gets."""


class Batch:
    """The items of one stream that are written together, sorted by kind, and the reasons of those to retry."""

    def __init__(self, rows: Iterable[tuple[str, Item]]) -> None:
        self.items: list[Item] = []
        self.kinds: dict[str, list[int]] = {}
        for at, (kind, item) in enumerate(rows):
            self.items.append(item)
            self.kinds.setdefault(kind, []).append(at)
        self.reasons: list[Reason | None] = [None] * len(self.items)

    def run(self, hooks: Hooks, places: Container[int] | None = None) -> None:
        """Run each hook on the items of its kind that have no reason yet; with ``places``, only on these of them."""
        for kind, hook in hooks:
            due = [at for at in self.kinds.get(kind, ()) if self.reasons[at] is None]
            if places is not None:
                due = [at for at in due if at in places]
            if due:
                for at, reason in zip(due, hook([self.items[at] for at in due]), strict=True):
                    self.reasons[at] = reason

    def put(self, store: Store, table: Table) -> set[int]:
        """Store the items that have no reason; the places of those that have a row already."""
        due = [at for at, reason in enumerate(self.reasons) if reason is None]
        exist = set()
        for at, outcome in zip(due, store.put_many(table, [self.items[at] for at in due]), strict=True):
            if outcome == EXISTS:
                exist.add(at)
            else:
                self.reasons[at] = outcome
        return exist


@dataclass(frozen=True, slots=True)
class ErasureScreen:
    """Looks for events of erased people among those that were accepted ``age`` seconds ago or earlier.

    Most events are stored within a second. A younger one needs no look: the second round of an erasure begins when
    every event that was accepted before it is stored, or that old.
    """

    erased: FindErased
    clock: Clock
    age: int

    @property
    def oldest_unseen(self) -> str:
        """The canonical time from which on accepted events are not looked up."""
        return times.iso(self.clock.now() - self.age * times.SECOND)


@dataclass(frozen=True)
class RowWriter:
    """Writes the rows of records.

    ``tables`` are by stream name. Hooks run ``before`` a write, ``after`` it, and before those of the latter on items
    that are ``known``: their keys have a row already. Without such a hook they count as stored. ``screen`` finds the
    events of erased people, which are dropped.
    """

    store: Store
    tables: Mapping[str, TableSettings]
    after: Hooks = ()
    before: Hooks = ()
    screen: ErasureScreen | None = None
    known: Hooks = ()

    def write(self, parsed: Mapping[int, Record], lane: Lane, meter: Meter) -> list[Failed]:
        """Store every row of all records, one call per stream; returns the events to retry."""
        failed: list[Failed] = []
        for name in dict.fromkeys(record.stream.name for record in parsed.values()):
            stream = STREAMS[name]
            rows = [(index, row) for index, record in parsed.items() if record.stream is stream for row in record.rows]
            rows, unknown = self._without_erased(stream, rows, parsed, lane, meter)
            not_stored = self._write_stream(stream, rows, lane, meter)
            meter.count("Stored", len(rows) - len(not_stored), stream=name, lane=lane)
            meter.trace("stored", _stored(parsed, rows, not_stored), stream=name, lane=lane)
            if logger.log_level <= logging.DEBUG:
                _log_stored(rows, not_stored, parsed, lane)
            failed.extend([*unknown, *not_stored])
        for each in failed:
            record = parsed[each.record]
            request = {record.correlation_id: 1}
            if isinstance(each.reason, PoisonRecord):
                meter.count("Poison", lane=lane, reason=each.reason.reason)
                meter.trace("poison", request, lane=lane, reason=each.reason.reason)
            elif isinstance(each.reason, FollowUpUnavailable):
                meter.count("NotFollowedUp", stream=record.stream.name, lane=lane)
                meter.trace("notFollowedUp", request, stream=record.stream.name, lane=lane)
            else:
                meter.count("NotStored", stream=record.stream.name, lane=lane)
                meter.trace("notStored", request, stream=record.stream.name, lane=lane)
                message = f"events are not stored yet: {each.reason.message}"
                report(type(each.reason).__name__, message, correlation_id=record.correlation_id)
        return failed

    def _without_erased(
        self, stream: Stream, rows: list[_Placed], parsed: Mapping[int, Record], lane: Lane, meter: Meter
    ) -> tuple[list[_Placed], list[Failed]]:
        """The rows without those of erased people, and the events of which it cannot be known now."""
        if self.screen is None or not stream.people:
            return rows, []
        bound = self.screen.oldest_unseen
        if all(record.envelope.accepted_at >= bound for record in parsed.values()):
            return rows, []  # nearly always; a batch has fewer records than rows
        accepted = [parsed[index].envelope.accepted_at for index, _ in rows]
        old = [at for at, accepted_at in enumerate(accepted) if accepted_at < bound]
        unknown: list[Failed] = []
        try:
            found = self.screen.erased(stream, [(accepted[at], rows[at][1].event) for at in old])
            gone = {old[place] for place in found}
        except StoreUnavailable as error:
            gone = set(old)
            unknown = [Failed(rows[at][0], rows[at][1].event, error) for at in old]
        else:
            meter.count("Erased", len(gone), stream=stream.name, lane=lane)
        return [row for at, row in enumerate(rows) if at not in gone], unknown

    def _write_stream(self, stream: Stream, rows: Sequence[_Placed], lane: Lane, meter: Meter) -> list[Failed]:
        failed = [Failed(index, row.event, row.poison) for index, row in rows if row.poison is not None]
        good = [(index, row.event, row.kind, row.item) for index, row in rows if row.item is not None]
        if good:
            batch = Batch((kind, item) for _, _, kind, item in good)
            table = Table(self.tables[stream.name].table, (stream.partition_key, stream.sort_key))
            began = time.perf_counter()
            batch.run(self.before)
            if exist := batch.put(self.store, table):
                batch.run(self.known, exist)
            taken = round(time.perf_counter() - began, 6)
            meter.measure("StoreSeconds", taken, MetricUnit.Seconds, stream=stream.name, lane=lane)
            batch.run(self.after)
            for (index, event, _, _), reason in zip(good, batch.reasons, strict=True):
                if reason is not None:
                    failed.append(Failed(index, event, reason))
        return failed


def _stored(parsed: Mapping[int, Record], rows: Sequence[_Placed], failed: Sequence[Failed]) -> Mapping[str, int]:
    """How many events of each request are stored, by correlation id."""
    found = Counter(parsed[index].correlation_id for index, _ in rows)
    if failed:
        found -= Counter(parsed[each.record].correlation_id for each in failed)
    return found


def _log_stored(rows: Sequence[_Placed], failed: Sequence[Failed], parsed: Mapping[int, Record], lane: Lane) -> None:
    """Log the ids of the stored events, a line per record."""
    left = {id(each.event) for each in failed}
    stored: dict[int, list[str]] = {}
    for index, row in rows:
        if id(row.event) not in left:
            stored.setdefault(index, []).append(str(row.event.get(parsed[index].stream.id_field)))
    for index, ids in stored.items():
        extra = {"events": ids, "lane": lane, "correlation_id": parsed[index].correlation_id}
        logger.debug("events are stored", extra=extra)
