"""Accepts events: validates and stamps them one by one, publishes them together, and gives each its own result.

An event that the broker does not confirm goes to the retry lane under the same id. If the retry lane refuses it too,
its result is an error with the id and time that make sending it again harmless.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from aws_lambda_powertools.metrics import MetricUnit

from headrace.api.rates.rate_limiter import RateLimiter
from headrace.core import keys, times
from headrace.core.caller import EVENTS_WRITE, Caller, HashAddress, SenderContext, without_hash
from headrace.core.envelope import EncodedEnvelope, Envelope, pack
from headrace.core.errors import (
    HeadraceError,
    InvalidEvent,
    Lane,
    RetryLaneUnavailable,
    Unavailable,
    UserError,
    echo,
    mapping_of,
)
from headrace.core.stream import Result, Stream, ValidatedEvent
from headrace.core.times import Clock
from headrace.queues import names
from headrace.queues.ports import Outgoing, Publisher, RetryLane, RetryRecord, correlation_attribute
from headrace.runtime.observability import Meter, report

Key = tuple[str, str]
Outcome = tuple[Lane | None, HeadraceError | None]


class Gate(Protocol):
    """Says which valid events of a stream may be written."""

    def admit(self, caller: Caller, events: Sequence[ValidatedEvent], now: int) -> Sequence[UserError | None]:
        """Why each event is refused, in order; ``now`` in microseconds. May mark an event. Never raises for a table."""


@dataclass(frozen=True)
class Acceptor:
    """Accepts events of any stream: published to a persist queue of its stream, or taken by the retry lane.

    ``queues`` are the numbers of persist queues. ``gates``, by stream name, refuse events; a stream without one accepts
    all that its scope allows. ``rate_limiter`` limits the events of a batch; the router has counted the first.
    ``hash_address`` makes the keyed hashes of clients' addresses.
    """

    publisher: Publisher
    retry_lane: RetryLane
    queues: names.Groups
    clock: Clock
    gates: Mapping[str, Gate] = field(default_factory=dict)
    rate_limiter: RateLimiter | None = None
    hash_address: HashAddress = without_hash

    def accept(
        self, stream: Stream, caller: Caller, raws: Sequence[object], correlation_id: str, meter: Meter
    ) -> list[Result]:
        """One result per event, in order. ``raws`` are events as clients send them; nothing invalid is published.

        The caller may write: the router has checked its scope, and has counted the request as one event. The others
        count here, before they are validated; those over the limit are not looked at.
        """
        passed, too_many = len(raws), None
        if passed > 1 and self.rate_limiter is not None:
            others, too_many = self.rate_limiter.admit(caller, passed - 1, meter)
            passed = 1 + others
        now = self.clock.now()
        is_trusted = caller.has(EVENTS_WRITE)
        sender = SenderContext(caller.subject, caller.username, is_trusted, now, caller.address, self.hash_address)
        stamped, results = _validate(stream, sender, raws[:passed])
        # Events with equal keys are one event: it is published once, and all of them have its result.
        unique = {each.key: each for each in stamped if each is not None}
        outcomes = self._refused(stream, caller, unique, now)
        admitted = [each for key, each in unique.items() if key not in outcomes]
        if admitted:
            envelope = Envelope(stream.name, correlation_id, times.iso(now), [each.event for each in admitted])
            carried = self._carry(envelope, admitted, meter)
            outcomes.update((each.key, outcome) for each, outcome in zip(admitted, carried, strict=True))
        for index, each in enumerate(stamped):
            if each is not None:
                lane, error = outcomes[each.key]
                results[index] = Result(each.receipt, lane, error)
        results += [Result(_sent_id(stream, raw), error=too_many) for raw in raws[passed:]]
        _measure(stream, results, meter)
        return results

    def _refused(
        self, stream: Stream, caller: Caller, events: Mapping[Key, ValidatedEvent], now: int
    ) -> dict[Key, Outcome]:
        """The events that the stream's gate refuses, each with its error."""
        gate = self.gates.get(stream.name)
        if gate is None or not events:
            return {}
        errors = gate.admit(caller, list(events.values()), now)
        return {key: (None, error) for key, error in zip(events, errors, strict=True) if error is not None}

    def _carry(self, envelope: Envelope, events: Sequence[ValidatedEvent], meter: Meter) -> list[Outcome]:
        """Publish the envelope's events, or send them to the retry lane: the lane or the error of each, in order."""
        packed = pack(envelope)
        outgoing = [
            Outgoing(
                names.queue_name(envelope.stream, events[part.indexes[0]].id, self.queues),
                part.body,
                envelope.correlation_id,
            )
            for part in packed
        ]
        began, confirms_before = time.perf_counter(), self.publisher.confirm_seconds
        published = list(zip(packed, self.publisher.publish(outgoing), strict=True))
        taken = round(time.perf_counter() - began, 6)
        waited = round(self.publisher.confirm_seconds - confirms_before, 6)
        meter.measure("PublishSeconds", taken, MetricUnit.Seconds, stream=envelope.stream, lane="main")
        meter.measure("ConfirmSeconds", waited, MetricUnit.Seconds, stream=envelope.stream, lane="main")
        unpublished = [(part, failure) for part, failure in published if failure is not None]
        retried = iter(self._hand_over(unpublished, envelope.correlation_id))
        outcomes: list[Outcome] = []
        for part, failure in published:
            outcome: Outcome = ("main", None) if failure is None else next(retried)
            outcomes.extend([outcome] * len(part.indexes))
        return outcomes

    def _hand_over(self, parts: Sequence[tuple[EncodedEnvelope, Unavailable]], correlation_id: str) -> list[Outcome]:
        """Send unpublished parts to the retry lane: the lane or the error of each, in order."""
        if not parts:
            return []
        for _, failure in parts:
            report(type(failure).__name__, f"events go to the retry lane: {failure.message}")
        outcomes: list[Outcome] = []
        records = [
            RetryRecord(part.body, {"reason": type(failure).__name__, **correlation_attribute(correlation_id)})
            for part, failure in parts
        ]
        for refusal in self.retry_lane.send(records):
            if refusal is None:
                outcomes.append(("retry", None))
            else:
                report("RetryLaneUnavailable", f"events are refused: {refusal.message}", level="error")
                lost = RetryLaneUnavailable("the event could not be kept; send it again as it is")
                outcomes.append((None, lost))
        return outcomes


def _validate(
    stream: Stream, sender: SenderContext, raws: Sequence[object]
) -> tuple[list[ValidatedEvent | None], list[Result]]:
    stamped: list[ValidatedEvent | None] = []
    results: list[Result] = []
    for raw in raws:
        try:
            stamped.append(stream.accept(raw, sender))
            results.append(Result({}))
        except InvalidEvent as error:
            stamped.append(None)
            results.append(Result(_sent_id(stream, raw), error=error))
    return stamped, results


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
