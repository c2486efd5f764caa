"""Writes rows into their tables and runs the hooks on the rows that are stored."""

from __future__ import annotations

import functools
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit

from headrace.core.errors import FollowUpUnavailable, Lane, PoisonRecord, StoreUnavailable
from headrace.core.items import Item
from headrace.core.stream import AfterStore, BeforeStore, Known, Stream, TableSettings
from headrace.delivery.records import Record, Row
from headrace.erasure.screen import ErasureScreen
from headrace.runtime.observability import Meter, logger, report
from headrace.storage.ports import EXISTS, Failure, Store, Table
from headrace.streams.registry import STREAMS

Reason = Failure | FollowUpUnavailable
"""Why an event is retried: it is not stored, or a hook on the stored row failed."""


@dataclass(frozen=True, slots=True)
class Failed:
    """An event to retry, the index of its record, and why."""

    record: int
    event: dict[str, Any]
    reason: Reason


_Placed = tuple[int, Row]
"""The row of an event, after the index of its record."""


@dataclass(frozen=True)
class RowWriter:
    """Writes the rows of records.

    ``tables``, the hooks ``before`` a write, and those of items that are ``known`` already, are by stream name. The
    hooks ``after`` a write run in this order. ``screen`` finds the events of erased people, which are dropped.
    """

    store: Store
    tables: Mapping[str, TableSettings]
    after: Sequence[AfterStore] = ()
    before: Mapping[str, BeforeStore] = field(default_factory=dict)
    screen: ErasureScreen | None = None
    known: Mapping[str, Known] = field(default_factory=dict)

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

    def _write_stream(self, stream: Stream, rows: Sequence[tuple[int, Row]], lane: Lane, meter: Meter) -> list[Failed]:
        failed = [Failed(index, row.event, row.poison) for index, row in rows if row.poison is not None]
        good = [(index, row.event, row.item) for index, row in rows if row.item is not None]
        if good:
            key = (stream.partition_key, stream.sort_key)
            table = Table(self.tables[stream.name].table, key)
            began = time.perf_counter()
            put = self._put(stream, table, [item for _, _, item in good])
            taken = round(time.perf_counter() - began, 6)
            meter.measure("StoreSeconds", taken, MetricUnit.Seconds, stream=stream.name, lane=lane)
            outcomes = self._run_hooks(stream, good, put)
            for (index, event, _), reason in zip(good, outcomes, strict=True):
                if reason is not None:
                    failed.append(Failed(index, event, reason))
        return failed

    def _put(self, stream: Stream, table: Table, items: Sequence[Item]) -> Sequence[Failure | None]:
        hook = self.before.get(stream.name)
        allowed, refused = (items, {}) if hook is None else hook.before_store(items)
        outcomes = self.store.put_many(table, allowed)
        known = [item for item, outcome in zip(allowed, outcomes, strict=True) if outcome == EXISTS]
        owner = self.known.get(stream.name)
        # Without a hook, they count as stored.
        found = iter(owner.known(known) if owner is not None and known else [None] * len(known))
        stored = iter([next(found) if outcome == EXISTS else outcome for outcome in outcomes])
        return [refused[index] if index in refused else next(stored) for index in range(len(items))]

    def _run_hooks(
        self, stream: Stream, rows: Sequence[tuple[int, dict[str, Any], Item]], outcomes: Sequence[Failure | None]
    ) -> Sequence[Reason | None]:
        """The ``outcomes`` of storing, and the failures of hooks."""
        reasons: list[Reason | None] = list(outcomes)
        for hook in self.after:
            stored = [at for at, reason in enumerate(reasons) if reason is None]
            if not stored:
                break
            found = hook.after_store(stream, [rows[at][2] for at in stored])
            for at, reason in zip(stored, found, strict=True):
                reasons[at] = reason
        return reasons


class StreamHooks:
    """Calls the hook of a row's stream, if it has one. ``factories`` build the hooks, by stream name, on first use."""

    def __init__(self, factories: Mapping[str, Callable[[], AfterStore]]) -> None:
        self._hooks = {name: functools.cache(build) for name, build in factories.items()}

    def after_store(self, stream: Stream, items: Sequence[Item]) -> Sequence[Reason | None]:
        hook = self._hooks.get(stream.name)
        return [None] * len(items) if hook is None else hook().after_store(stream, items)


def _stored(
    parsed: Mapping[int, Record], rows: Sequence[tuple[int, Row]], failed: Sequence[Failed]
) -> Mapping[str, int]:
    """How many events of each request are stored, by correlation id."""
    found = Counter(parsed[index].correlation_id for index, _ in rows)
    if failed:
        found -= Counter(parsed[each.record].correlation_id for each in failed)
    return found


def _log_stored(
    rows: Sequence[tuple[int, Row]], failed: Sequence[Failed], parsed: Mapping[int, Record], lane: Lane
) -> None:
    """Log the ids of the stored events, a line per record."""
    left = {id(each.event) for each in failed}
    stored: dict[int, list[str]] = {}
    for index, row in rows:
        if id(row.event) not in left:
            stored.setdefault(index, []).append(str(row.event.get(parsed[index].stream.id_field)))
    for index, ids in stored.items():
        extra = {"events": ids, "lane": lane, "correlation_id": parsed[index].correlation_id}
        logger.debug("events are stored", extra=extra)
