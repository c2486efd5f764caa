"""One batch of the retry queue."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core.errors import PoisonRecord, StoreThrottled, StoreUnavailable
from headrace.core.stream import TableSettings
from headrace.persist import records, retry_schedule
from headrace.persist.records import Record
from headrace.persist.row_writer import Reason, RowWriter
from headrace.queues.ports import RetryLane, VisibilityChange
from headrace.runtime.observability import Meter


def received(record: Mapping[str, Any]) -> int:
    """How often SQS has given this record out, this time included."""
    return max(1, int(record.get("attributes", {}).get("ApproximateReceiveCount", "1")))


def groups(records: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """Indexes of ``records`` in groups to be settled one after the other.

    Records seen for the first time come first and together. Any other may be a killer and is alone, those with the
    fewest receives left first: what comes after a killer then outlives it. Among equals the order turns with every
    receive, so that of two records that meet again each is once before the other.
    """
    counts = [received(record) for record in records]
    first = [index for index, count in enumerate(counts) if count == 1]
    by_id = sorted(range(len(records)), key=lambda index: str(records[index]["messageId"]))
    rank = {index: place for place, index in enumerate(by_id)}

    def order(index: int) -> tuple[int, int]:
        return -counts[index], rank[index] if counts[index] % 2 else -rank[index]

    again = sorted((index for index, count in enumerate(counts) if count > 1), key=order)
    return ([first] if first else []) + [[index] for index in again]


TRY_MARGIN = 12.0
"""Seconds to the deadline below which nothing more is tried: one call to a silent service may take this long."""

UNKNOWN_STREAM = "unknown"
"""The stream of a record that cannot be read; dead letters name it so too."""

Remaining = Callable[[], float]
"""Seconds until the invocation's deadline."""


@dataclass(slots=True)
class RetryBatch:
    """The records of one SQS event. ``kept`` are those that are not stored, by index, and why."""

    raws: Sequence[Mapping[str, Any]]
    writer: RowWriter
    lane: RetryLane
    tables: Mapping[str, TableSettings]
    first_pause: int
    visibility: int
    remaining: Remaining
    meter: Meter
    kept: dict[int, Reason] = field(default_factory=dict)

    def store(self) -> list[str]:
        """Store what can be stored; the message ids of the records that stay in the queue."""
        ordered = groups(self.raws)
        self._part([index for group in ordered for index in group if received(self.raws[index]) > 1])
        unsettled: list[int] = []
        for group in ordered:
            self._settle(unsettled)
            self._store_group(group)
            unsettled = group
        # What is stored of the last group is deleted by the mapping, when it has the answer.
        self._postpone([index for index in unsettled if index in self.kept])
        return [self.raws[index]["messageId"] for index in sorted(self.kept)]

    def _part(self, indexes: Sequence[int]) -> None:
        """Let records come again one by one, should this batch end the process before it settles them."""
        if indexes and len(self.raws) > 1:
            pauses = retry_schedule.staggered_delays(len(indexes), self.visibility, random.random())  # noqa: S311
            receipts = (self.raws[index]["receiptHandle"] for index in indexes)
            self.lane.postpone([VisibilityChange(*each) for each in zip(receipts, pauses, strict=True)])

    def _store_group(self, group: Sequence[int]) -> None:
        """Store a group of records that are touched together; what is not stored joins ``kept``."""
        parsed: dict[int, Record] = {}
        for index in group:
            try:
                parsed[index] = records.rows_of(records.sqs_body(self.raws[index]), self.tables)
            except PoisonRecord as error:
                self.meter.count("Poison", lane="retry", reason=error.reason)
                self.kept[index] = error
        left = {index: 1 for index in group if index not in parsed}
        hopeless = self._hopeless()
        if hopeless is not None:
            # What no try can store need not wait for the table.
            waiting = [index for index, each in parsed.items() if any(row.poison is None for row in each.rows)]
            self.kept.update(dict.fromkeys(waiting, hopeless))
            left.update({index: len(parsed[index].rows) for index in waiting})
        tried = {index: each for index, each in parsed.items() if index not in self.kept}
        for failed in self.writer.write(tried, "retry", self.meter):
            left[failed.record] = left.get(failed.record, 0) + 1
            # A record with anything in it that may still succeed is not poison yet.
            if failed.record not in self.kept or isinstance(self.kept[failed.record], PoisonRecord):
                self.kept[failed.record] = failed.reason
        self._count_dead(parsed, left)

    def _hopeless(self) -> StoreUnavailable | None:
        """Why no further record is tried in this batch, if so: one by one, each would wait for the same table."""
        away = (why for why in self.kept.values() if isinstance(why, StoreUnavailable))
        found = next((why for why in away if not isinstance(why, StoreThrottled)), None)
        if found is None and self.remaining() < TRY_MARGIN:
            return StoreThrottled("no time is left in this invocation")
        return found

    def _settle(self, indexes: Sequence[int]) -> None:
        stored = [self.raws[index]["receiptHandle"] for index in indexes if index not in self.kept]
        if stored:
            self.lane.delete(stored)
        self._postpone([index for index in indexes if index in self.kept])

    def _postpone(self, indexes: Sequence[int]) -> None:
        if indexes:
            self.lane.postpone([self._postponement(index) for index in indexes])

    def _postponement(self, index: int) -> VisibilityChange:
        raw = self.raws[index]
        if isinstance(self.kept[index], PoisonRecord):
            return VisibilityChange(raw["receiptHandle"], 0)
        seconds = retry_schedule.pause_after(received(raw), self.first_pause)
        return VisibilityChange(raw["receiptHandle"], seconds)

    def _count_dead(self, parsed: Mapping[int, Record], left: Mapping[int, int]) -> None:
        """Count the events that are ``left`` unstored in each record whose last try this was: SQS moves it now."""
        for index, events in left.items():
            if received(self.raws[index]) >= retry_schedule.RECEIVES:
                stream = parsed[index].stream.name if index in parsed else UNKNOWN_STREAM
                self.meter.count("Dead", events, stream=stream)
