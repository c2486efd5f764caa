"""P4 with the metrics that a running stage has: what each of them counts, and what an operator can check with them."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from headrace.core.envelope import Envelope
from headrace.persist.retry_schedule import RECEIVES
from headrace.queues.ports import RetryRecord
from headrace.runtime.observability import Meter
from headrace.streams.chat.stream import CHAT
from tests.worlds.senders import NOW, caller, message, sender
from tests.worlds.write_path import Lanes


class Books:
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
def books(capsys: pytest.CaptureFixture[str]) -> Books:
    return Books(capsys)


def accept(lanes: Lanes, count: int) -> None:
    meter = Meter()
    lanes.acceptor.accept(CHAT, caller(), [message(messageId=f"m-{n}") for n in range(count)], "c", meter)
    meter.flush()


def envelope(*ids: str) -> bytes:
    return Envelope("chat", "c", NOW, [CHAT.accept(message(messageId=each), sender()).event for each in ids]).encode()


def test_what_is_accepted_is_counted_again_when_it_is_stored(books: Books) -> None:
    lanes = Lanes()

    accept(lanes, 7)
    lanes.persist(*lanes.broker.bodies())

    assert (books.of("Accepted"), books.of("Stored")) == (7, 7)


def test_the_retry_lane_adds_to_both_sides_alike(books: Books) -> None:
    lanes = Lanes()
    lanes.broker.down = True

    accept(lanes, 7)
    lanes.persist_retry(*lanes.retry.records)

    assert (books.of("Accepted"), books.of("Stored")) == (7, 7)


def test_a_redelivery_is_stored_twice_in_the_books_so_only_a_deficit_tells_of_a_loss(books: Books) -> None:
    lanes = Lanes()
    accept(lanes, 3)

    lanes.persist(*lanes.broker.bodies(), *lanes.broker.bodies())

    assert books.of("Stored") == 6
    assert books.of("Stored") >= books.of("Accepted")
    assert len(lanes.rows()) == 3


@pytest.mark.parametrize(("received", "dead"), [(1, 0), (RECEIVES - 1, 0), (RECEIVES, 2)])
def test_events_are_dead_when_the_last_try_of_their_record_failed(books: Books, received: int, dead: int) -> None:
    lanes = Lanes()
    lanes.store.down = True

    lanes.persist_retry(RetryRecord(envelope("m-1", "m-2")), received=received)

    assert books.of("Dead") == dead


def test_of_a_record_that_dies_only_the_events_that_are_not_stored_are_dead(books: Books) -> None:
    lanes = Lanes()
    lanes.store.throttled = lambda row: row["messageId"] == "m-2"

    lanes.persist_retry(RetryRecord(envelope("m-1", "m-2", "m-3")), received=RECEIVES)

    assert (books.of("Stored"), books.of("Dead")) == (2, 1)


def test_a_record_that_cannot_be_read_is_one_dead_event_of_no_known_stream(books: Books) -> None:
    lanes = Lanes()

    lanes.persist_retry(RetryRecord(b"[]"), received=RECEIVES)

    assert books.of("Dead", "unknown") == 1


def test_records_that_are_not_even_tried_the_last_time_are_dead_too(books: Books) -> None:
    """An unavailable table is not called again for every record of a batch."""
    lanes = Lanes()
    lanes.store.down = True

    lanes.persist_retry(
        RetryRecord(envelope("m-1")), RetryRecord(envelope("m-2")), RetryRecord(b"[]"), received=RECEIVES
    )

    assert (books.of("Dead"), books.of("Dead", "unknown")) == (2, 1)


def test_nothing_is_missing_from_the_books_whatever_became_of_an_event(books: Books) -> None:
    """P4: with nothing in flight, accepted <= stored + dead - redriven."""
    lanes = Lanes()
    accept(lanes, 10)
    lanes.store.throttled = lambda row: row["messageId"] in ("m-3", "m-4")
    lanes.persist(*lanes.broker.bodies())
    lanes.persist_retry(*lanes.retry.records, received=RECEIVES)

    assert (books.of("Accepted"), books.of("Stored"), books.of("Dead")) == (10, 8, 2)

    lanes.store.throttled = lambda row: False
    lanes.persist_retry(*lanes.retry.records)

    redriven = 2
    assert books.of("Accepted") == books.of("Stored") + books.of("Dead") - redriven
