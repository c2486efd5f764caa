"""A record that a table throttles waits as long as it must, and spends no try."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.envelope import Envelope, decode
from headrace.core.errors import FollowUpUnavailable, StoreThrottled
from headrace.delivery.retry_schedule import THROTTLED_SECONDS
from headrace.queues.ports import RetryRecord
from tests.worlds.senders import CHAT, CLOCK, NOW, message, sender
from tests.worlds.write_path import WritePath, received_event


def envelope(*ids: str) -> bytes:
    return Envelope("chat", "c-1", NOW, [CHAT.accept(message(messageId=each), sender()).event for each in ids]).encode()


def ids(record: RetryRecord) -> list[str]:
    return [event["messageId"] for event in decode(record.body).events]


def throttling(*throttled: str) -> WritePath:
    """A write path whose table does not take the messages with these ids."""
    write_path = WritePath()
    write_path.store.throttled = lambda row: row["messageId"] in throttled
    return write_path


def poll(write_path: WritePath) -> None:
    """Deliver what is visible in the retry lane, as the mapping does."""
    for received in write_path.retry.receive():
        answer = write_path.persister.retry_lane(received_event([received]))
        if not answer["batchItemFailures"]:
            write_path.retry.delete([received.receipt])


def test_throttled_events_are_sent_again_without_those_that_were_stored() -> None:
    write_path = throttling("2", "3")

    kept = write_path.persist_retry(RetryRecord(envelope("1", "2", "3")), received=2)

    assert kept == []
    assert [row["messageId"] for row in write_path.rows()] == ["1"]
    (record,) = write_path.retry.records
    assert (ids(record), record.delay) == (["2", "3"], 15)


def test_a_table_that_throttles_for_hours_leaves_the_dead_lane_empty() -> None:
    """P6, and P3: the record keeps its bytes, its first failure and the count of its tries."""
    write_path = throttling("1")
    write_path.persist(envelope("1"))
    (first,) = write_path.retry.records
    hours, pause = 6, 15
    rounds = hours * 3600 // pause
    try:
        for _ in range(rounds):
            poll(write_path)
            CLOCK.advance(pause)
        (last,) = write_path.retry.records
        write_path.store.throttled = lambda _row: False
        poll(write_path)
    finally:
        CLOCK.advance(-rounds * pause)

    assert last.body == first.body == envelope("1")
    assert last.attributes["firstFailedAt"] == first.attributes["firstFailedAt"]
    assert int(last.attributes["attempts"]) == rounds + 1
    assert (len(write_path.rows()), write_path.retry.records, write_path.retry.dead.messages) == (1, [], [])


def test_after_a_day_of_throttling_tries_count_again() -> None:
    write_path = throttling("1")
    write_path.persist_retry(RetryRecord(envelope("1")))
    (record,) = write_path.retry.records
    CLOCK.advance(THROTTLED_SECONDS)
    try:
        kept = write_path.persist_retry(record, received=2)
    finally:
        CLOCK.advance(-THROTTLED_SECONDS)

    assert kept == ["sqs-0"]
    assert [seconds for _, seconds in write_path.retry.postponed] == [60]


def test_poison_beside_throttled_events_is_dead_in_seconds() -> None:
    """P5."""
    write_path = throttling("1")
    broken: dict[str, Any] = {"x": 1}
    events = [*decode(envelope("1")).events, broken]

    kept = write_path.persist_retry(RetryRecord(Envelope("chat", "c-1", NOW, events).encode()))

    assert kept == []
    assert [(record.attributes["reason"], record.delay) for record in write_path.retry.records] == [
        ("missing_field", 0),
        ("StoreThrottled", 15),
    ]


@pytest.mark.parametrize("refused", [False, True])
def test_a_record_that_sqs_refuses_is_kept(refused: bool) -> None:
    write_path = throttling("1")
    write_path.retry.refuse_next(int(refused))

    kept = write_path.persist_retry(RetryRecord(envelope("1")))

    assert kept == (["sqs-0"] if refused else [])


def test_a_record_that_also_failed_for_another_reason_spends_a_try() -> None:
    write_path = throttling()
    write_path.store.put_many = lambda _table, _items: [  # type: ignore[method-assign]
        StoreThrottled("slower"),
        FollowUpUnavailable("no cache"),
    ]

    kept = write_path.persist_retry(RetryRecord(envelope("1", "2")))

    assert kept == ["sqs-0"]
    assert write_path.retry.records == []
