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
from dataclasses import replace
from typing import Any

from headrace.core import times
from headrace.core.envelope import Envelope, pack
from headrace.core.errors import PoisonRecord, RetryLaneUnavailable
from headrace.core.stream import StoredHook, TableSettings
from headrace.core.times import Clock
from headrace.persist import records
from headrace.persist.records import Record
from headrace.persist.retry_batch import TRY_MARGIN, Remaining, RetryBatch
from headrace.persist.row_writer import Failed, Reason, RowWriter
from headrace.queues.ports import BASE64, ENCODING, RetryLane, RetryRecord, fits
from headrace.queues.rabbitmq import event
from headrace.runtime.observability import Meter, report
from headrace.storage.ports import Store

FIRST_WAIT = 0.2
LONGEST_WAIT = 5.0
RETURNED = "Redelivered"
"""The reason of a record that is handed on because it came back."""

Raw = Mapping[str, Any]


class Persister:
    """Stores the records of both lanes; ``tables`` are by stream name, ``after`` are notified in turn."""

    def __init__(
        self,
        store: Store,
        retry_lane: RetryLane,
        tables: Mapping[str, TableSettings],
        clock: Clock,
        first_pause: int = 15,
        visibility: int = 360,
        sleep: Callable[[float], None] = time.sleep,
        after: Sequence[StoredHook] = (),
    ) -> None:
        self._writer = RowWriter(store, tables, after)
        self._retry_lane = retry_lane
        self._tables = tables
        self._clock = clock
        self._first_pause = first_pause
        self._visibility = visibility
        self._sleep = sleep

    def main_lane(self, event: Mapping[str, Any], remaining: Remaining) -> None:
        """Store a RabbitMQ event's records, or hand them to the retry lane.

        What came back before may be what ended the process over it, so it is handed on unread: the retry lane finds
        out which it is, and nobody's batch goes back until the broker parks it. What that does not take is stored here.

        Raises:
            RetryLaneUnavailable: the retry lane refused some until near the deadline; the whole batch comes again.
        """
        meter = Meter()
        try:
            raws = [record for queue in event["rmqMessagesByQueue"].values() for record in queue]
            handovers = self._store([raw for raw in raws if raw.get("redelivered") is not True], meter)
            refused = self._hand_on([raw for raw in raws if raw.get("redelivered") is True], meter)
            handovers += self._store(refused, meter)
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
        try:
            batch = RetryBatch(
                event["Records"],
                self._writer,
                self._retry_lane,
                self._tables,
                self._first_pause,
                self._visibility,
                remaining,
                meter,
            )
            return {"batchItemFailures": [{"itemIdentifier": each} for each in batch.store()]}
        finally:
            meter.flush()

    def _store(self, raws: Sequence[Raw], meter: Meter) -> list[RetryRecord]:
        """Store RabbitMQ records; what is not stored, for the retry lane."""
        handovers: list[RetryRecord] = []
        parsed: dict[int, Record] = {}
        for index, raw in enumerate(raws):
            read = self._read(raw, meter)
            if isinstance(read, RetryRecord):
                handovers.append(read)
            else:
                parsed[index] = read
        handovers.extend(self._repacked(parsed, self._writer.write(parsed, "main", meter)))
        return handovers

    def _hand_on(self, raws: Sequence[Raw], meter: Meter) -> list[Raw]:
        """Hand records to the retry lane as they are, once; those that it did not take."""
        if not raws:
            return []
        outcomes = self._retry_lane.send([self._unread(raw) for raw in raws])
        refused = [raw for raw, outcome in zip(raws, outcomes, strict=True) if outcome is not None]
        meter.count("HandedOver", len(raws) - len(refused))
        report(RETURNED, f"{len(raws)} records came back, {len(raws) - len(refused)} of them go on to the retry lane")
        return refused

    def _unread(self, raw: Raw) -> RetryRecord:
        """A RabbitMQ record's bytes, whatever they are."""
        try:
            return self._handover(event.rabbit_body(raw), RETURNED)
        except PoisonRecord as error:
            return self._handover(_data(raw), error.reason, {ENCODING: BASE64})

    def _read(self, raw: Raw, meter: Meter) -> Record | RetryRecord:
        """A RabbitMQ record's rows; or its bytes for the retry lane, if it can never be stored."""
        body, marked = _data(raw), {ENCODING: BASE64}
        try:
            body, marked = event.rabbit_body(raw), {}
            return records.rows_of(body, self._tables)
        except PoisonRecord as error:
            meter.count("Poison", lane="main", reason=error.reason)
            return self._handover(body, error.reason, marked)

    def _repacked(self, parsed: Mapping[int, Record], failed: Sequence[Failed]) -> Iterable[RetryRecord]:
        """Failed events in envelopes of their own: those of one record together, poison alone."""
        waiting: dict[int, list[Failed]] = {}
        for each in failed:
            envelope = parsed[each.record].envelope
            if isinstance(each.reason, PoisonRecord):
                yield self._handover(replace(envelope, events=[each.event]).encode(), each.reason.reason)
            else:
                waiting.setdefault(each.record, []).append(each)
        for record, events in waiting.items():
            rest: Envelope = replace(parsed[record].envelope, events=[each.event for each in events])
            for part in pack(rest):
                yield self._handover(part.body, _name(events[0].reason))

    def _handover(self, body: bytes, reason: str, more: Mapping[str, str] | None = None) -> RetryRecord:
        return RetryRecord(
            body,
            {
                **(more or {}),
                "reason": reason,
                "lane": "main",
                "attempts": "1",
                "firstFailedAt": times.iso(self._clock.now()),
            },
        )

    def _hand_over(self, handovers: Sequence[RetryRecord], remaining: Remaining, meter: Meter) -> None:
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


def _data(raw: Raw) -> bytes:
    return str(raw.get("data", "")).encode()


def _name(reason: Reason) -> str:
    return reason.reason if isinstance(reason, PoisonRecord) else type(reason).__name__
