"""P4: the metrics Accepted, Stored, Dead and Redriven account for every event."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from headrace.core.envelope import Envelope
from headrace.delivery.retry_schedule import RECEIVES
from headrace.queues.ports import RetryRecord
from headrace.runtime.observability import Meter
from tests.worlds.senders import CHAT, NOW, caller, message, sender
from tests.worlds.write_path import WritePath


class MetricSums:
    """The sums of all metrics that were written."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self._sums: Counter[tuple[str, str]] = Counter()

    def of(self, name: str, stream: str = "chat") -> float:
        for line in self._capsys.readouterr().out.splitlines():
            content = json.loads(line)
            for metric in content["_aws"]["CloudWatchMetrics"][0]["Metrics"]:
                self._sums[metric["Name"], content.get("stream", "")] += sum(content[metric["Name"]])
        return self._sums[name, stream]


@pytest.fixture
def metrics(capsys: pytest.CaptureFixture[str]) -> MetricSums:
    return MetricSums(capsys)


def accept(write_path: WritePath, count: int) -> None:
    meter = Meter()
    write_path.acceptor.accept(CHAT, caller(), [message(messageId=f"m-{n}") for n in range(count)], "c", meter)
    meter.flush()


def envelope(*ids: str) -> bytes:
    return Envelope("chat", "c", NOW, [CHAT.accept(message(messageId=each), sender()).event for each in ids]).encode()


def test_a_redelivery_counts_as_stored_again(metrics: MetricSums) -> None:
    """A sum of Stored below Accepted therefore shows a loss; a higher one does not."""
    write_path = WritePath()
    accept(write_path, 3)

    write_path.persist(*write_path.broker.bodies(), *write_path.broker.bodies())

    assert metrics.of("Stored") == 6
    assert metrics.of("Stored") >= metrics.of("Accepted")
    assert len(write_path.rows()) == 3


@pytest.mark.parametrize(("received", "dead"), [(1, 0), (RECEIVES - 1, 0), (RECEIVES, 2)])
def test_events_are_dead_when_the_last_try_of_their_record_failed(
    metrics: MetricSums, received: int, dead: int
) -> None:
    write_path = WritePath()
    write_path.store.down = True

    write_path.persist_retry(RetryRecord(envelope("m-1", "m-2")), received=received)

    assert metrics.of("Dead") == dead


def test_only_unstored_events_of_a_dead_record_count_as_dead(metrics: MetricSums) -> None:
    write_path = WritePath()
    write_path.store.throttled = lambda row: row["messageId"] == "m-2"
    write_path.retry.refuse_next(1)

    write_path.persist_retry(RetryRecord(envelope("m-1", "m-2", "m-3")), received=RECEIVES)

    assert (metrics.of("Stored"), metrics.of("Dead")) == (2, 1)


def test_records_skipped_at_their_last_attempt_count_as_dead(metrics: MetricSums) -> None:
    """An unavailable table is not called again for every record of a batch."""
    write_path = WritePath()
    write_path.store.down = True

    write_path.persist_retry(
        RetryRecord(envelope("m-1")), RetryRecord(envelope("m-2")), RetryRecord(b"[]"), received=RECEIVES
    )

    assert (metrics.of("Dead"), metrics.of("Dead", "unknown")) == (2, 1)


def test_every_accepted_event_is_counted_as_stored_or_dead(metrics: MetricSums) -> None:
    """P4: with nothing in flight, accepted <= stored + dead - redriven."""
    write_path = WritePath()
    accept(write_path, 10)
    write_path.store.throttled = lambda row: row["messageId"] in ("m-3", "m-4")
    write_path.persist(*write_path.broker.bodies())
    write_path.store.down = True
    write_path.persist_retry(*write_path.retry.records, received=RECEIVES)

    assert (metrics.of("Accepted"), metrics.of("Stored"), metrics.of("Dead")) == (10, 8, 2)

    write_path.store.down, write_path.store.throttled = False, lambda row: False
    write_path.persist_retry(*write_path.retry.records)

    redriven = 2
    assert metrics.of("Accepted") == metrics.of("Stored") + metrics.of("Dead") - redriven
