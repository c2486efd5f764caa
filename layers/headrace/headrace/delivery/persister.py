"""Stores the records of the main lane (RabbitMQ) and the retry lane (SQS) in the tables.

The main lane has no partial batch response: an exception returns the whole batch to the broker. So events that cannot
be stored go to the retry queue one record each, and only if SQS refuses them until near the deadline is the batch
returned. The retry lane has a partial batch response: it names the records to keep, and SQS deletes the others.
"""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit

from headrace.core import times
from headrace.core.envelope import CORRELATION_ID, Envelope, correlation_attribute, pack
from headrace.core.errors import PoisonRecord, RetryLaneUnavailable, StoreThrottled
from headrace.core.stream import Reason
from headrace.core.times import Clock
from headrace.delivery import records, retry_schedule
from headrace.delivery.backlog import BacklogReports
from headrace.delivery.records import ATTEMPTS, UNKNOWN_STREAM, Record
from headrace.delivery.row_writer import Failed, RowWriter
from headrace.queues.ports import RetryRecord
from headrace.queues.rabbitmq.event import rabbit_body, rabbit_correlation_id
from headrace.queues.sqs import BASE64, ENCODING, RetryLane, fits
from headrace.runtime.observability import Meter, correlate_batch, logger, report

TRY_MARGIN = 12.0
"""No attempt begins later than this before the deadline, in seconds: a call to a silent service may take as long."""
FIRST_WAIT = 0.2
LONGEST_WAIT = 5.0
REDELIVERED = "Redelivered"
"""The reason of a record that goes to the retry queue because the broker delivered it before."""

Raw = Mapping[str, Any]
Remaining = Callable[[], float]
"""Seconds until the invocation's deadline."""


class Persister:
    """Stores the records of both lanes by ``writer``; ``backlog`` gets the batches of the main lane."""

    def __init__(
        self,
        writer: RowWriter,
        retry_lane: RetryLane,
        clock: Clock,
        first_pause: int = 15,
        sleep: Callable[[float], None] = time.sleep,
        backlog: BacklogReports | None = None,
    ) -> None:
        self._writer = writer
        self._retry_lane = retry_lane
        self._tables = writer.tables
        self._clock = clock
        self._first_pause = first_pause
        self._sleep = sleep
        self._backlog = backlog

    def main_lane(self, event: Mapping[str, Any], remaining: Remaining, invocation: str = "") -> None:
        """Store a RabbitMQ event's records, or send them to the retry queue; ``invocation`` is Lambda's request id.

        Redelivered records may have crashed the function, so they go to the retry queue unprocessed: its mapping gives
        the function one record at a time. If SQS refuses them, they are stored here.

        Raises:
            RetryLaneUnavailable: SQS refused some records until near the deadline; the broker redelivers the batch.
        """
        meter, began = Meter(), time.perf_counter()
        queue = next(iter(event["rmqMessagesByQueue"]), "").split("::")[0]  # a mapping reads one queue
        try:
            raws = [record for queue in event["rmqMessagesByQueue"].values() for record in queue]
            correlate_batch(set(map(rabbit_correlation_id, raws)), invocation)
            unstored = self._store([raw for raw in raws if raw.get("redelivered") is not True], meter, queue)
            redelivered = [raw for raw in raws if raw.get("redelivered") is True]
            if redelivered:
                unstored += self._store(self._hand_on(redelivered, meter), meter)
            self._hand_over(unstored, remaining, meter)
            if self._backlog is not None:
                self._backlog.end(queue, len(raws), time.perf_counter() - began)
        finally:
            meter.flush()

    def retry_lane(
        self, event: Mapping[str, Any], remaining: Remaining = lambda: math.inf, invocation: str = ""
    ) -> dict[str, Any]:
        """Store an SQS event's records; the partial batch response names those to keep.

        A kept record becomes visible again after a pause that grows with each receive, and poison at once, so that it
        reaches the dead lane in seconds. What the table throttled is sent again as a new record, whose receives SQS
        counts from the start.

        The mapping's batch size is 1, so a record that crashes the function affects no other. A batch of several is
        stored correctly too, but then a crash costs each of its records one try.
        """
        meter = Meter()
        try:
            raws = event["Records"]
            correlate_batch(set(map(records.sqs_correlation_id, raws)), invocation)
            _log_repeated(raws)
            tried = [(raw, self._store_again(raw, remaining, meter)) for raw in raws]
            kept = [(raw, reasons) for raw, reasons in tried if reasons]
            self._retry_lane.postpone({raw["receiptHandle"]: self._pause(raw, reasons) for raw, reasons in kept})
            return {"batchItemFailures": [{"itemIdentifier": raw["messageId"]} for raw, _ in kept]}
        finally:
            meter.flush()

    def _store_again(self, raw: Raw, remaining: Remaining, meter: Meter) -> list[Reason]:
        """Store an SQS record; the reason of each event that is not stored. A record with any is kept."""
        stream, request = UNKNOWN_STREAM, records.sqs_correlation_id(raw)
        try:
            record = records.rows_of(records.sqs_body(raw), self._tables)
        except PoisonRecord as error:
            meter.count("Poison", lane="retry", reason=error.reason)
            meter.trace("poison", {request: 1}, lane="retry", reason=error.reason)
            reasons: list[Reason] = [error]
        else:
            stream, request = record.stream.name, record.correlation_id
            reasons = self._try_again(raw, record, remaining, meter)
        if reasons and records.receives(raw) >= retry_schedule.RECEIVES:
            meter.count("Dead", len(reasons), stream=stream)
            meter.trace("dead", {request: len(reasons)}, stream=stream)
        return reasons

    def _try_again(self, raw: Raw, record: Record, remaining: Remaining, meter: Meter) -> list[Reason]:
        if remaining() < TRY_MARGIN:
            return [StoreThrottled("no time is left in this invocation")] * len(record.rows)
        failed = self._writer.write({0: record}, "retry", meter)
        is_sent = retry_schedule.is_throttled(failed) and self._send_throttled_again(raw, record, failed, meter)
        return [] if is_sent else [each.reason for each in failed]

    def _send_throttled_again(self, raw: Raw, record: Record, failed: Sequence[Failed], meter: Meter) -> bool:
        """Send events that the table throttled as new records; whether these replace the record.

        A record that waited for a day, or of which SQS refuses a part, is kept, and spends a try.
        """
        now = self._clock.now()
        if not retry_schedule.may_wait(raw, now):
            return False
        parts = [
            retry_schedule.throttled_record(raw, part, now, self._first_pause)
            for part in self._repacked({0: record}, failed)
        ]
        if any(self._retry_lane.send(parts)):
            return False
        meter.count("Throttled")
        return True

    def _pause(self, raw: Raw, reasons: Sequence[Reason]) -> int:
        """Seconds until a kept record is tried again. It counts as poison only if no event in it can ever be stored."""
        poison = all(isinstance(reason, PoisonRecord) for reason in reasons)
        return 0 if poison else retry_schedule.pause_after(records.receives(raw), self._first_pause)

    def _store(self, raws: Sequence[Raw], meter: Meter, queue: str = "") -> list[RetryRecord]:
        """Store RabbitMQ records; returns those for the retry queue. ``queue`` is empty for redelivered records."""
        unstored: list[RetryRecord] = []
        parsed: dict[int, Record] = {}
        for index, raw in enumerate(raws):
            read = self._read(raw, meter)
            if isinstance(read, RetryRecord):
                unstored.append(read)
            else:
                parsed[index] = read
        newest_first = sorted(parsed.values(), key=lambda each: each.envelope.accepted_at, reverse=True)
        oldest = {each.stream.name: each.envelope.accepted_at for each in newest_first}
        if self._backlog is not None and queue:
            self._backlog.begin(queue, len(raws), max(map(self._seconds_since, oldest.values()), default=0.0))
        unstored.extend(self._repacked(parsed, self._writer.write(parsed, "main", meter)))
        for stream, accepted_at in oldest.items():
            waited = self._seconds_since(accepted_at)
            meter.measure("WaitSeconds", waited, MetricUnit.Seconds, stream=stream, lane="main")
        return unstored

    def _seconds_since(self, time: str) -> float:
        return max(0, self._clock.now() - times.micros_of(time)) / times.SECOND  # clocks differ

    def _hand_on(self, raws: Sequence[Raw], meter: Meter) -> list[Raw]:
        """Send redelivered records to the retry queue unprocessed, once; returns those that SQS refused."""
        outcomes = self._retry_lane.send([self._unread(raw, REDELIVERED) for raw in raws])
        refused = [raw for raw, outcome in zip(raws, outcomes, strict=True) if outcome is not None]
        sent = len(raws) - len(refused)
        meter.count("HandedOver", sent)
        handed_over = Counter(map(rabbit_correlation_id, raws)) - Counter(map(rabbit_correlation_id, refused))
        meter.trace("handedOver", handed_over)
        report(REDELIVERED, f"{len(raws)} records were redelivered, {sent} of them were sent to the retry queue")
        return refused

    def _unread(self, raw: Raw, reason: str) -> RetryRecord:
        """A RabbitMQ record for the retry queue, whatever its bytes are."""
        marked = {}
        try:
            body = rabbit_body(raw)
        except PoisonRecord as error:
            body, reason, marked = str(raw.get("data", "")).encode(), error.reason, {ENCODING: BASE64}
        return self._retry_record(body, reason, rabbit_correlation_id(raw), marked)

    def _read(self, raw: Raw, meter: Meter) -> Record | RetryRecord:
        """A RabbitMQ record's rows; or, if it can never be stored, a record for the retry queue."""
        try:
            return records.rows_of(rabbit_body(raw), self._tables)
        except PoisonRecord as error:
            meter.count("Poison", lane="main", reason=error.reason)
            meter.trace("poison", {rabbit_correlation_id(raw): 1}, lane="main", reason=error.reason)
            return self._unread(raw, error.reason)

    def _repacked(self, parsed: Mapping[int, Record], failed: Sequence[Failed]) -> Iterable[RetryRecord]:
        """Failed events as new records: one for each poison event, the others of a record together."""
        waiting = []
        for each in failed:
            envelope = parsed[each.record].envelope
            if isinstance(each.reason, PoisonRecord):
                body = replace(envelope, events=[each.event]).encode()
                yield self._retry_record(body, each.reason.reason, envelope.correlation_id)
            else:
                waiting.append(each)
        for record, events in _by_record(waiting).items():
            rest: Envelope = replace(parsed[record].envelope, events=[each.event for each in events])
            for part in pack(rest):
                yield self._retry_record(part.body, _name(events[0].reason), rest.correlation_id)

    def _retry_record(
        self, body: bytes, reason: str, correlation_id: str, more: Mapping[str, str] | None = None
    ) -> RetryRecord:
        attributes = {"reason": reason, "lane": "main", ATTEMPTS: "1", "firstFailedAt": times.iso(self._clock.now())}
        return RetryRecord(body, {**(more or {}), **attributes, **correlation_attribute(correlation_id)})

    def _hand_over(self, unstored: Sequence[RetryRecord], remaining: Remaining, meter: Meter) -> None:
        """Send records to the retry queue, again and again until near the deadline."""
        left = list(unstored)
        wait = FIRST_WAIT
        while left:
            outcomes = self._retry_lane.send(left)
            refused = [record for record, outcome in zip(left, outcomes, strict=True) if outcome is not None]
            meter.count("HandedOver", len(left) - len(refused))
            meter.trace("handedOver", Counter(map(_request, left)) - Counter(map(_request, refused)))
            if not refused:
                return
            left = refused
            message = next(outcome.message for outcome in outcomes if outcome is not None)
            report("RetryLaneUnavailable", f"records wait for the retry queue: {message}", level="error")
            pause = random.uniform(wait / 2, wait)  # noqa: S311
            # SQS never takes a record that is too large: return the batch at once, so that the broker parks it soon.
            if remaining() - pause < TRY_MARGIN or not any(fits(record) for record in left):
                raise RetryLaneUnavailable(f"{len(left)} records could neither be stored nor sent to the retry queue")
            self._sleep(pause)
            wait = min(wait * 2, LONGEST_WAIT)


def _log_repeated(raws: Sequence[Raw]) -> None:
    """Log each record that was received before: an attempt that crashed the function wrote nothing else."""
    for raw in raws:
        if records.receives(raw) > 1:
            extra = {"attempt": records.receives(raw), "correlation_id": records.sqs_correlation_id(raw) or None}
            logger.info("a record of the retry lane is tried again", extra=extra)


def _request(record: RetryRecord) -> str:
    return record.attributes.get(CORRELATION_ID, "")


def _by_record(failures: Sequence[Failed]) -> dict[int, list[Failed]]:
    found: dict[int, list[Failed]] = {}
    for each in failures:
        found.setdefault(each.record, []).append(each)
    return found


def _name(reason: Reason) -> str:
    return reason.reason if isinstance(reason, PoisonRecord) else type(reason).__name__
