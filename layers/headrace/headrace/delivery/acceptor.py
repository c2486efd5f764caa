"""Accepts events: validates and stamps them one by one, publishes them together, and gives each its own result.

An event that the broker does not confirm goes to the retry lane under the same id. If the retry lane refuses it too,
its result is an error with the id and time that make sending it again harmless.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from aws_lambda_powertools.metrics import MetricUnit

from headrace.api.error_bodies import Result, mapping_of
from headrace.api.rates.rate_limiter import RateLimiter
from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, Caller
from headrace.core.envelope import EncodedEnvelope, Envelope, correlation_attribute, pack
from headrace.core.errors import InvalidEvent, Lane, RetryLaneUnavailable, Unavailable, echo
from headrace.core.sender import Gate, HashAddress, SenderContext, ValidatedEvent, without_hash
from headrace.core.stream import Stream
from headrace.core.times import Clock
from headrace.delivery.backlog_limit import BacklogLimit
from headrace.queues import names
from headrace.queues.ports import Outgoing, Publisher, RetryRecord
from headrace.queues.sqs import RetryLane
from headrace.runtime.observability import Meter, report

Key = tuple[str, str]
Gates = Callable[[str], Sequence[Gate]]
"""The gates of events of a kind, in the order in which they are asked."""


@dataclass(frozen=True)
class Acceptor:
    """Accepts events of any stream: published to a persist queue of its stream, or taken by the retry lane.

    ``queues`` are the numbers of persist queues. ``gates`` refuse events; without them, a scope is enough.
    ``rate_limiter`` limits the events of a batch; the router has counted the first. ``hash_address`` makes the keyed
    hashes of clients' addresses. ``backlog`` refuses events that would wait too long.
    """

    publisher: Publisher
    retry_lane: RetryLane
    queues: names.Groups
    clock: Clock
    gates: Gates | None = None
    rate_limiter: RateLimiter | None = None
    hash_address: HashAddress = without_hash
    backlog: BacklogLimit | None = None

    def accept(
        self, stream: Stream, caller: Caller, raws: Sequence[object], correlation_id: str, meter: Meter
    ) -> list[Result]:
        """One result per event, in order. ``raws`` are events as clients send them; nothing invalid is published.

        The caller may write: the router has checked its scope, and has counted the request as one event. The others
        count here, before they are validated; those over the limit are not looked at. During a backlog, none is.
        """
        passed, refusal = len(raws), None
        if self.backlog is not None:
            refusal = self.backlog.refusal(stream.queues, caller, passed, meter)
        if refusal is not None:
            passed = 0
        elif passed > 1 and self.rate_limiter is not None:
            others, refusal = self.rate_limiter.admit(caller, passed - 1, meter)
            passed = 1 + others
        now = self.clock.now()
        is_trusted = caller.has(EVENTS_WRITE)
        sender = SenderContext(caller.subject, caller.username, is_trusted, now, caller.address, self.hash_address)
        results, accept = list[Result](), stream.accept
        # Events with equal keys are one event: it is published once, and all of them have its result.
        unique: dict[Key, tuple[ValidatedEvent, Result]] = {}
        for raw in raws[:passed]:
            try:
                event = accept(raw, sender)
            except InvalidEvent as invalid:
                results.append(Result(_sent_id(stream, raw), error=invalid))
            else:
                result = unique[event.key][1] if event.key in unique else Result(event.receipt)
                result.receipt = event.receipt  # a gate may still change the receipt of the last one
                unique[event.key] = event, result
                results.append(result)
        events = list(unique.values())
        # The events of one request are of one kind.
        for gate in self.gates(stream.kind_name(events[0][0].event)) if self.gates and events else ():
            errors = gate.admit(caller, [event for event, _ in events], now)
            for (_, result), error in zip(events, errors, strict=True):
                result.error = error
            events = [each for each in events if each[1].error is None]
        if events:
            envelope = Envelope(stream.name, correlation_id, times.iso(now), [event.event for event, _ in events])
            self._carry(stream, envelope, events, meter)
        results += [Result(_sent_id(stream, raw), error=refusal) for raw in raws[passed:]]
        _measure(stream, results, meter)
        return results

    def _carry(
        self, stream: Stream, envelope: Envelope, events: Sequence[tuple[ValidatedEvent, Result]], meter: Meter
    ) -> None:
        """Publish the envelope's events, or send them to the retry lane; sets the lane or the error of each."""
        parts = pack(envelope)
        outgoing = []
        for part in parts:
            queue = names.queue_name(stream.queues, events[part.indexes[0]][0].id, self.queues)
            outgoing.append(Outgoing(queue, part.body, envelope.correlation_id))
        began, confirms_before = time.perf_counter(), self.publisher.confirm_seconds
        failures = self.publisher.publish(outgoing)
        taken = round(time.perf_counter() - began, 6)
        waited = round(self.publisher.confirm_seconds - confirms_before, 6)
        meter.measure("PublishSeconds", taken, MetricUnit.Seconds, stream=envelope.stream, lane="main")
        meter.measure("ConfirmSeconds", waited, MetricUnit.Seconds, stream=envelope.stream, lane="main")
        unpublished: list[tuple[EncodedEnvelope, Unavailable]] = []
        for part, failure in zip(parts, failures, strict=True):
            if failure is not None:
                unpublished.append((part, failure))
                continue
            for index in part.indexes:
                events[index][1].lane = "main"
        if unpublished:
            self._hand_over(unpublished, envelope.correlation_id, [result for _, result in events])

    def _hand_over(
        self, parts: Sequence[tuple[EncodedEnvelope, Unavailable]], correlation_id: str, results: Sequence[Result]
    ) -> None:
        """Send unpublished parts to the retry lane; sets the lane or the error in the results of their events."""
        records = []
        for part, failure in parts:
            reason = type(failure).__name__
            report(reason, f"events go to the retry lane: {failure.message}")
            records.append(RetryRecord(part.body, {"reason": reason, **correlation_attribute(correlation_id)}))
        for (part, _), refusal in zip(parts, self.retry_lane.send(records), strict=True):
            if refusal is not None:
                report("RetryLaneUnavailable", f"events are refused: {refusal.message}", level="error")
            for index in part.indexes:
                if refusal is None:
                    results[index].lane = "retry"
                else:
                    results[index].error = RetryLaneUnavailable("the event could not be kept; send it again as it is")


def _sent_id(stream: Stream, raw: object) -> dict[str, str]:
    """The id of a refused event, so that its sender can identify it."""
    sent = raw.get(stream.id_field, raw.get(stream.other_id_field)) if isinstance(raw, dict) else None
    return {stream.id_field: cast(str, echo(sent, keys.ID_LIMIT))} if isinstance(sent, str) else {}


def _measure(stream: Stream, results: Sequence[Result], meter: Meter) -> None:
    accepted: dict[Lane, list[str]] = {}
    for result in results:
        if result.error is not None:
            meter.count("Refused", stream=stream.name, code=mapping_of(result.error).code)
        elif result.lane is not None:
            accepted.setdefault(result.lane, []).append(result.receipt[stream.id_field])
    for lane, ids in accepted.items():
        meter.count("Accepted", len(ids), stream=stream.name, lane=lane)
        meter.trace("ids", dict.fromkeys(ids, 1), stream=stream.name, lane=lane)
