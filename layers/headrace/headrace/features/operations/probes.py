"""Sends one probe event per persist queue and minute through the main lane, and reads it back from the table (P4).

Each run first reads the probes of the minute before: one that is not readable a minute after it was sent is missing.
Then it sends those of the current minute, and measures for ``WATCH_SECONDS`` how soon they are readable. A probe's key
is its queue and its minute, so a run needs no state of an earlier run, and a repeated run changes no row.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit

from headrace.core import times
from headrace.core.envelope import Envelope
from headrace.core.errors import StoreUnavailable
from headrace.core.times import Clock
from headrace.features.operations.probe import PROBE, probe, probe_room
from headrace.queues.brokers import at_broker, each_broker
from headrace.queues.names import persist_queues
from headrace.queues.ports import Outgoing, Publisher
from headrace.runtime.observability import Meter, logger, report
from headrace.runtime.settings import BrokerSettings, table_settings
from headrace.services.shared import clock, impatient, secrets
from headrace.storage.dynamodb.readers import DynamoReader
from headrace.storage.reading import RangeQuery, RangeReader

WATCH_SECONDS = 10.0
FIRST_WAIT = 0.02
LONGEST_WAIT = 0.5


@dataclass(frozen=True)
class ProbeRun:
    """The result of a run: queues whose last probe is missing, queues that took a new one, and its seconds."""

    minute: str
    missing: list[str]
    sent: list[str]
    seconds: dict[str, float]


@dataclass(frozen=True)
class ProbeReader:
    """Reads probes from the ``table`` of their stream, consistently."""

    reader: RangeReader
    table: str

    def newest(self, queue: str, lower: str | None = None, upper: str | None = None) -> str | None:
        """The minute of the newest probe that came through ``queue``, as a canonical time. May raise StoreUnavailable.

        Only one from ``lower`` on and before ``upper`` counts, if they are given.
        """
        query = RangeQuery(
            table=self.table,
            partition_attribute=PROBE.partition_key,
            partition=probe_room(queue),
            sort_attribute=PROBE.sort_key,
            lower=lower,
            upper=upper,
            limit=1,
            consistent=True,
        )
        items = self.reader.read(query).items
        return str(items[0]["timestamp"]) if items else None


@dataclass
class Prober:
    """Sends and checks the probes of ``queues``, which each broker has; ``publishers`` has one for each."""

    publishers: Sequence[Publisher]
    reader: ProbeReader
    queues: Sequence[str]
    clock: Clock
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    _former_run: int | None = None

    def run_for(self, event: Mapping[str, Any], correlation_id: str) -> dict[str, Any]:
        """Run the minute of a scheduled ``event``, or the current one for an event without a time."""
        logger.set_correlation_id(correlation_id)
        at = event.get("time")
        return asdict(self.run(times.parse_iso(at) if isinstance(at, str) else self.clock.now(), correlation_id))

    def run(self, at: int, correlation_id: str) -> ProbeRun:
        """Check the minute before ``at`` (microseconds), then send and watch the probes of the current minute.

        Measures ``ProbeMissing``, the number of queues without their last probe (also 0, so that an alarm notices when
        no run happens), and ``ProbeSeconds`` of each probe that is readable within ``WATCH_SECONDS``.
        """
        meter = Meter()
        minute = at - at % times.MINUTE
        try:
            missing = self._missing(minute - times.MINUTE)
            meter.measure("ProbeMissing", len(missing))
            if missing:
                message = f"the last minute's probe was not stored through {', '.join(missing)}"
                report("ProbeMissing", message, level="error")
            started = self.monotonic()
            sent = self._send(times.iso(minute), correlation_id)
            meter.count("Accepted", len(sent), stream=PROBE.name, lane="main")
            seconds = self._watch(sent, minute, started)
            for queue, taken in seconds.items():
                meter.measure("ProbeSeconds", taken, MetricUnit.Seconds, queue=queue)
        finally:
            self._former_run = minute
            meter.flush()
        return ProbeRun(times.iso(minute), missing, sent, seconds)

    def _missing(self, minute: int) -> list[str]:
        """The queues without a readable probe of ``minute``; empty if probably no probe was sent.

        That is assumed when all are missing and this environment did not run in that minute: a new stack, or a stage
        that was down. If another environment did run, the missing probes are reported a minute later.
        """
        seen = {queue: self._seen(queue, minute) for queue in _of_all(self.queues, len(self.publishers))}
        if self._former_run != minute and all(each is False for each in seen.values()):
            return []
        return [queue for queue, each in seen.items() if not each]

    def _send(self, minute: str, correlation_id: str) -> list[str]:
        """Publish one probe to each queue; returns the queues whose probe was confirmed.

        An unconfirmed probe is not sent to the retry lane, because probes measure the main lane.
        """
        accepted_at = times.iso(self.clock.now())
        sent = []
        for broker, publisher in enumerate(self.publishers, 1):
            messages = {}
            for queue in self.queues:
                name = at_broker(queue, broker)
                envelope = Envelope(PROBE.name, correlation_id, accepted_at, [probe(name, minute)])
                messages[name] = Outgoing(queue, envelope.encode(), correlation_id)
            for name, outcome in zip(messages, publisher.publish(list(messages.values())), strict=True):
                if outcome is None:
                    sent.append(name)
                else:
                    reason = f"a probe was not accepted: {outcome.message}"
                    report(f"probe {type(outcome).__name__}", reason, queue=name)
        return sent

    def _watch(self, sent: Sequence[str], minute: int, started: float) -> dict[str, float]:
        """The seconds from ``started`` until each probe was readable, without those that took too long."""
        seconds: dict[str, float] = {}
        wait = FIRST_WAIT
        while True:
            for queue in sent:
                if queue not in seconds and self._seen(queue, minute):
                    seconds[queue] = self.monotonic() - started
            if len(seconds) == len(sent) or self.monotonic() - started + wait > WATCH_SECONDS:
                return seconds
            self.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT)

    def _seen(self, queue: str, minute: int) -> bool | None:
        """Whether the probe is there; ``None`` while the table cannot be read."""
        try:
            return self.reader.newest(queue, times.iso(minute), times.iso(minute + times.MINUTE)) is not None
        except StoreUnavailable as error:
            report("probe StoreUnavailable", f"probes cannot be read: {error.message}")
            return None


def _of_all(queues: Sequence[str], brokers: int) -> list[str]:
    """The queues of so many brokers, as operators see them."""
    return [at_broker(queue, broker) for broker in range(1, brokers + 1) for queue in queues]


def _probe_reader() -> ProbeReader:
    return ProbeReader(DynamoReader(impatient("dynamodb")), table_settings(PROBE).table)


@functools.cache
def prober() -> Prober:
    """Sends and checks probes. Its publishers have no breaker: probes are sent to a failing broker too."""
    # Imported here: the status sends no probes.
    from headrace.queues.rabbitmq.publisher import RabbitPublisher

    settings = BrokerSettings.read()
    publishers = [RabbitPublisher(each, secrets()) for each in each_broker(settings)]
    return Prober(publishers, _probe_reader(), persist_queues(settings.persist_queues), clock())


def status() -> dict[str, Callable[[], dict[str, str | None]]]:
    """What reads the minute of each queue's newest probe; a read gives up after a second."""
    settings, reader = BrokerSettings.read(), _probe_reader()
    queues = _of_all(persist_queues(settings.persist_queues), len(settings.broker_endpoints))
    readers = ThreadPoolExecutor(len(queues), "probes")
    return {"probes": lambda: dict(zip(queues, readers.map(reader.newest, queues), strict=True))}
