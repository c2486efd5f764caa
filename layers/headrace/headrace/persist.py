"""Writes what lies in the lanes into the tables. A bad record delays only itself, and never raises.

The main lane (RabbitMQ) has no partial answer: raising gives the whole batch back. So what cannot be stored is handed
to the retry lane event by event, and only if that refuses too, until near the deadline, does the batch go back.
The retry lane (SQS) is told which records failed; the others are deleted.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from headrace import records, retry_budget, retry_order, times
from headrace.envelope import Envelope, pack
from headrace.errors import Lane, PoisonRecord, RetryLaneUnavailable, StoreThrottled, StoreUnavailable, shown
from headrace.items import Item
from headrace.observe import Meter, report
from headrace.records import Record, Row
from headrace.retry_lane.base import BASE64, ENCODING, Handover, Postponement, RetryLane, fits
from headrace.settings import TableSettings
from headrace.store.base import Failure, Store, Table
from headrace.streams import STREAMS
from headrace.streams.base import Stream
from headrace.times import Clock

FIRST_WAIT = 0.2
LONGEST_WAIT = 5.0
TRY_MARGIN = 12.0
"""Seconds to the deadline below which nothing more is tried: one call to a silent service may take this long."""

UNKNOWN_STREAM = "unknown"
"""The stream of a record that cannot be read; dead letters name it so too."""

_NOTHING: Mapping[str, str] = {}

Remaining = Callable[[], float]
"""Seconds until the invocation's deadline."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """An event that is not stored, and why."""

    record: int
    event: dict[str, Any]
    reason: Failure


class AfterStore(Protocol):
    """What else follows from rows that are in the table now: a live copy, a fresher cache."""

    def stored(self, stream: Stream, items: Sequence[Item]) -> Sequence[Failure | None]:
        """One outcome per item, in order. Must not raise, and may be told of the same item again.

        A failure sends the item's event through the retry lane, where it is stored and told again. So only what
        answers depend on may fail; what is best effort reports its trouble itself and returns no failure.
        """
        ...


class Persister:
    """Stores the records of both lanes; ``tables`` are by stream name, ``after`` hears of every stored row in turn."""

    def __init__(
        self,
        store: Store,
        retry_lane: RetryLane,
        tables: Mapping[str, TableSettings],
        clock: Clock,
        first_pause: int = 15,
        sleep: Callable[[float], None] = time.sleep,
        after: Sequence[AfterStore] = (),
    ) -> None:
        self._after = after
        self._store = store
        self._retry_lane = retry_lane
        self._tables = tables
        self._clock = clock
        self._first_pause = first_pause
        self._sleep = sleep

    def main_lane(self, event: Mapping[str, Any], remaining: Remaining) -> None:
        """Store a RabbitMQ event's records, or hand them to the retry lane.

        Raises:
            RetryLaneUnavailable: the retry lane refused some until near the deadline; the whole batch comes again.
        """
        meter = Meter()
        try:
            raws = [record for queue in event["rmqMessagesByQueue"].values() for record in queue]
            handovers: list[Handover] = []
            parsed: dict[int, Record] = {}
            for index, raw in enumerate(raws):
                read = self._read(raw, meter)
                if isinstance(read, Handover):
                    handovers.append(read)
                else:
                    parsed[index] = read
            failed = self._store_rows(parsed, "main", meter)
            handovers.extend(self._repacked(parsed, failed))
            self._hand_over(handovers, remaining, meter)
        finally:
            meter.flush()

    def retry_lane(self, event: Mapping[str, Any], remaining: Remaining = lambda: math.inf) -> dict[str, Any]:
        """Store an SQS event's records; the answer (ReportBatchItemFailures) names those to keep.

        A record that can never succeed is made visible at once, so that it reaches the dead lane in seconds; any other
        waits four times longer at each receive. Before a record is touched that may end the process (one that was
        received before), what came before it is settled: deleted from the queue if it is stored, else postponed.
        """
        meter = Meter()
        raws = event["Records"]
        kept: dict[int, Failure] = {}
        unsettled: list[int] = []
        try:
            for group in retry_order.groups(raws):
                self._settle(raws, unsettled, kept)
                self._retry(raws, group, kept, remaining, meter)
                unsettled = group
            # What is stored of the last group is deleted by the mapping, when it has the answer.
            self._postpone(raws, [index for index in unsettled if index in kept], kept)
            return {"batchItemFailures": [{"itemIdentifier": raws[index]["messageId"]} for index in sorted(kept)]}
        finally:
            meter.flush()

    def _retry(
        self,
        raws: Sequence[Mapping[str, Any]],
        group: Sequence[int],
        kept: dict[int, Failure],
        remaining: Remaining,
        meter: Meter,
    ) -> None:
        """Store a group of records that are touched together; what is not stored joins ``kept``."""
        parsed: dict[int, Record] = {}
        for index in group:
            try:
                parsed[index] = records.rows_of(records.sqs_body(raws[index]), self._tables)
            except PoisonRecord as error:
                meter.count("Poison", lane="retry", reason=error.reason)
                kept[index] = error
        left = {index: 1 for index in group if index not in parsed}
        hopeless = self._hopeless(kept, remaining)
        if hopeless is not None:
            # What no try can store need not wait for the table.
            waiting = [index for index, each in parsed.items() if any(row.poison is None for row in each.rows)]
            kept.update(dict.fromkeys(waiting, hopeless))
            left.update({index: len(parsed[index].rows) for index in waiting})
        tried = {index: each for index, each in parsed.items() if index not in kept}
        for failed in self._store_rows(tried, "retry", meter):
            left[failed.record] = left.get(failed.record, 0) + 1
            # A record with anything in it that may still succeed is not poison yet.
            if failed.record not in kept or isinstance(kept[failed.record], PoisonRecord):
                kept[failed.record] = failed.reason
        _count_dead(raws, parsed, left, meter)

    def _hopeless(self, kept: Mapping[int, Failure], remaining: Remaining) -> StoreUnavailable | None:
        """Why no further record is tried in this batch, if so: one by one, each would wait for the same table."""
        away = (why for why in kept.values() if isinstance(why, StoreUnavailable))
        found = next((why for why in away if not isinstance(why, StoreThrottled)), None)
        if found is None and remaining() < TRY_MARGIN:
            return StoreThrottled("no time is left in this invocation")
        return found

    def _settle(self, raws: Sequence[Mapping[str, Any]], indexes: Sequence[int], kept: Mapping[int, Failure]) -> None:
        stored = [raws[index]["receiptHandle"] for index in indexes if index not in kept]
        if stored:
            self._retry_lane.delete(stored)
        self._postpone(raws, [index for index in indexes if index in kept], kept)

    def _postpone(self, raws: Sequence[Mapping[str, Any]], indexes: Sequence[int], kept: Mapping[int, Failure]) -> None:
        if indexes:
            self._retry_lane.postpone([self._postponement(raws[index], kept[index]) for index in indexes])

    def _read(self, raw: Mapping[str, Any], meter: Meter) -> Record | Handover:
        """A RabbitMQ record's rows; or its bytes for the retry lane, if it can never be stored."""
        body, marked = str(raw.get("data", "")).encode(), {ENCODING: BASE64}
        try:
            body, marked = records.rabbit_body(raw), {}
            return records.rows_of(body, self._tables)
        except PoisonRecord as error:
            meter.count("Poison", lane="main", reason=error.reason)
            return self._handover(body, error, marked)

    def _store_rows(self, parsed: Mapping[int, Record], lane: Lane, meter: Meter) -> list[_Failed]:
        """Store every row of all records, one call per stream; the events that are not stored."""
        failed: list[_Failed] = []
        for name, stream in STREAMS.items():
            rows = [(index, row) for index, record in parsed.items() if record.stream is stream for row in record.rows]
            not_stored = self._store_stream(stream, rows)
            meter.count("Stored", len(rows) - len(not_stored), stream=name, lane=lane)
            failed.extend(not_stored)
        for each in failed:
            if isinstance(each.reason, PoisonRecord):
                meter.count("Poison", lane=lane, reason=each.reason.reason)
            else:
                meter.count("NotStored", stream=parsed[each.record].stream.name, lane=lane)
                report(
                    type(each.reason).__name__,
                    f"events are not stored yet: {each.reason.message}",
                    correlation_id=shown(parsed[each.record].envelope.correlation_id),
                )
        return failed

    def _store_stream(self, stream: Stream, rows: Sequence[tuple[int, Row]]) -> list[_Failed]:
        failed = [_Failed(index, row.event, row.poison) for index, row in rows if row.poison is not None]
        good = [(index, row.event, row.item) for index, row in rows if row.item is not None]
        if good:
            table = Table(self._tables[stream.name].table, (stream.partition_key, stream.sort_key))
            outcomes = self._tell(stream, good, self._store.put_many(table, [item for _, _, item in good]))
            for (index, event, _), reason in zip(good, outcomes, strict=True):
                if reason is not None:
                    failed.append(_Failed(index, event, reason))
        return failed

    def _tell(
        self, stream: Stream, rows: Sequence[tuple[int, dict[str, Any], Item]], outcomes: Sequence[Failure | None]
    ) -> Sequence[Failure | None]:
        """``outcomes`` with what went wrong after storing."""
        reasons = list(outcomes)
        for listener in self._after:
            stored = [at for at, reason in enumerate(reasons) if reason is None]
            if not stored:
                break
            heard = listener.stored(stream, [rows[at][2] for at in stored])
            for at, reason in zip(stored, heard, strict=True):
                reasons[at] = reason
        return reasons

    def _repacked(self, parsed: Mapping[int, Record], failed: Sequence[_Failed]) -> Iterable[Handover]:
        """Failed events in envelopes of their own: those of one record together, poison alone."""
        waiting: dict[int, list[_Failed]] = {}
        for each in failed:
            envelope = parsed[each.record].envelope
            if isinstance(each.reason, PoisonRecord):
                yield self._handover(replace(envelope, events=[each.event]).encode(), each.reason)
            else:
                waiting.setdefault(each.record, []).append(each)
        for record, events in waiting.items():
            rest: Envelope = replace(parsed[record].envelope, events=[each.event for each in events])
            for part in pack(rest):
                yield self._handover(part.body, events[0].reason)

    def _handover(self, body: bytes, reason: Failure, more: Mapping[str, str] = _NOTHING) -> Handover:
        return Handover(
            body,
            {
                **more,
                "reason": reason.reason if isinstance(reason, PoisonRecord) else type(reason).__name__,
                "lane": "main",
                "attempts": "1",
                "firstFailedAt": times.iso(self._clock.now()),
            },
        )

    def _hand_over(self, handovers: Sequence[Handover], remaining: Remaining, meter: Meter) -> None:
        left = list(handovers)
        wait = FIRST_WAIT
        while left:
            outcomes = self._retry_lane.send(left)
            refused = [record for record, outcome in zip(left, outcomes, strict=True) if outcome is not None]
            meter.count("HandedOver", len(left) - len(refused))
            if not refused:
                return
            left = refused
            message = next(outcome.message for outcome in outcomes if outcome is not None)
            report("RetryLaneUnavailable", f"records wait for the retry lane: {message}", level="error")
            pause = random.uniform(wait / 2, wait)  # noqa: S311
            # A record too large for SQS is never taken: the sooner the batch goes back, the sooner the broker parks it.
            if remaining() - pause < TRY_MARGIN or not any(fits(record) for record in left):
                raise RetryLaneUnavailable(f"{len(left)} records could neither be stored nor handed on")
            self._sleep(pause)
            wait = min(wait * 2, LONGEST_WAIT)

    def _postponement(self, raw: Mapping[str, Any], reason: Failure) -> Postponement:
        if isinstance(reason, PoisonRecord):
            return Postponement(raw["receiptHandle"], 0)
        seconds = retry_budget.pause_after(retry_order.received(raw), self._first_pause)
        return Postponement(raw["receiptHandle"], seconds)


def _count_dead(
    raws: Sequence[Mapping[str, Any]], parsed: Mapping[int, Record], left: Mapping[int, int], meter: Meter
) -> None:
    """Count the events that are ``left`` unstored in each record whose last try this was: SQS moves it now."""
    for index, events in left.items():
        if retry_order.received(raws[index]) >= retry_budget.RECEIVES:
            stream = parsed[index].stream.name if index in parsed else UNKNOWN_STREAM
            meter.count("Dead", events, stream=stream)
