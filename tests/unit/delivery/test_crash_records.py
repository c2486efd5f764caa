"""P5: records that crash the function, by memory, time or a library, delay no other record."""

from __future__ import annotations

from headrace.core.envelope import Envelope
from headrace.queues.ports import RetryRecord
from tests.worlds.senders import CHAT, NOW, message, sender
from tests.worlds.write_path import WritePath, rabbit_event, received_event


def envelope(*ids: str) -> bytes:
    return Envelope("chat", "c-1", NOW, [CHAT.accept(message(messageId=each), sender()).event for each in ids]).encode()


IDS = [f"m-{number}" for number in range(10)]


def deliver(world: WritePath, *bodies: bytes, redelivered: int) -> None:
    """One batch of the main lane, whose first records are redelivered."""
    event = rabbit_event(bodies)
    (records,) = event["rmqMessagesByQueue"].values()
    for record in records[:redelivered]:
        record["redelivered"] = True
    world.persister.main_lane(event, lambda: 60)


def test_a_batch_of_several_is_stored_with_no_call_to_sqs() -> None:
    world = WritePath()
    world.retry.send([RetryRecord(envelope(each)) for each in IDS])

    assert world.persister.retry_lane(received_event(world.retry.receive(10))) == {"batchItemFailures": []}

    assert world.retry.postponed == []
    assert {row["messageId"] for row in world.rows()} == set(IDS)


def test_redelivered_records_go_to_the_retry_queue_unchanged_with_a_reason() -> None:
    world = WritePath()

    deliver(world, b"\xff\x00 whatever", redelivered=1)

    (record,) = world.retry.records
    assert record.body == b"\xff\x00 whatever"
    assert (record.attributes["reason"], record.attributes["lane"]) == ("Redelivered", "main")


def test_redelivered_records_that_sqs_refuses_are_stored_at_once() -> None:
    """P1: an outage of SQS delays no event that the table can store."""
    world = WritePath()
    world.retry.refuse_next(2)

    deliver(world, *(envelope(each) for each in IDS), redelivered=5)

    assert {row["messageId"] for row in world.rows()} == {"m-0", "m-1", *IDS[5:]}
    assert [each["messageId"] for each in world.retried()] == IDS[2:5]
    assert world.waits == []
