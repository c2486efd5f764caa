"""P5: records that crash the function, by memory, time or a library, delay no other record."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.envelope import Envelope, decode
from headrace.core.times import SECOND
from headrace.delivery.retry_schedule import RECEIVES
from headrace.queues.ports import RetryRecord
from headrace.streams.chat.stream import CHAT
from tests.fakes.queues import Message
from tests.worlds.senders import CLOCK, NOW, message, sender
from tests.worlds.write_path import WritePath, rabbit_event, received_event


def envelope(*ids: str) -> bytes:
    return Envelope("chat", "c-1", NOW, [CHAT.accept(message(messageId=each), sender()).event for each in ids]).encode()


class Crash(BaseException):
    """The process ends: no ``except Exception`` in it catches this."""


class CrashWorld:
    """The lanes, and a function that crashes at each of ``crash_events``."""

    def __init__(self, *crash_events: str) -> None:
        self.write_path = WritePath()
        self._start = CLOCK.now()
        store = self.write_path.store.put_many

        def put_many(table: Any, items: Any) -> Any:
            if any(item["messageId"] in crash_events for item in items):
                raise Crash
            return store(table, items)

        self.write_path.store.put_many = put_many  # type: ignore[method-assign]

    def __enter__(self) -> CrashWorld:
        return self

    def __exit__(self, *_: object) -> None:
        CLOCK.advance((self._start - CLOCK.now()) / SECOND)

    def send(self, *ids: str) -> None:
        """Put each event into the retry lane, in a separate record."""
        self.write_path.retry.send([RetryRecord(envelope(each)) for each in ids])

    def receive(self, batch_size: int = 1) -> list[Message]:
        """One batch of the retry lane, by default of the size that the template has."""
        batch = self.write_path.retry.receive(batch_size)
        try:
            answer = self.write_path.persister.retry_lane(received_event(batch))
        except Crash:
            return batch
        failed = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
        self.write_path.retry.delete([each.receipt for each in batch if each.id not in failed])
        return batch

    def read_until_settled(self) -> None:
        """Read the retry lane until every record is stored or dead."""
        for _ in range(RECEIVES + 1):
            while self.receive():
                pass
            CLOCK.advance(360)

    def deliver(self, *bodies: bytes, redelivered: int = 0) -> bool:
        """One batch of the main lane, whose first records are redelivered; whether the function answered."""
        event = rabbit_event(bodies)
        (records,) = event["rmqMessagesByQueue"].values()
        for record in records[:redelivered]:
            record["redelivered"] = True
        try:
            self.write_path.persister.main_lane(event, lambda: 60)
        except Crash:
            return False
        return True

    def stored(self) -> set[str]:
        return {row["messageId"] for row in self.write_path.rows()}

    def waiting(self) -> list[str]:
        return [each["messageId"] for each in self.write_path.retried()]

    def dead(self) -> list[str]:
        return [decode(each.record.body).events[0]["messageId"] for each in self.write_path.retry.dead.messages]


IDS = [f"m-{number}" for number in range(10)]


@pytest.mark.parametrize("crash_events", [{"m-4"}, {"m-0", "m-3", "m-4", "m-9"}, set(IDS)])
def test_crash_records_reach_the_dead_lane_alone(crash_events: set[str]) -> None:
    """P5: the other records are stored at the first attempt."""
    with CrashWorld(*crash_events) as world:
        world.send(*IDS)

        while world.receive():
            pass
        assert world.stored() == set(IDS) - crash_events

        world.read_until_settled()
        assert set(world.dead()) == crash_events
        assert world.waiting() == []


def test_a_crash_in_a_batch_of_several_loses_nothing() -> None:
    """Each of its records loses one attempt, and is stored in a batch without the crash record."""
    with CrashWorld("m-4") as world:
        world.send(*IDS)

        assert len(world.receive(batch_size=10)) == 10
        world.read_until_settled()

        assert world.stored() == set(IDS) - {"m-4"}


def test_a_batch_of_several_is_stored_with_no_call_to_sqs() -> None:
    with CrashWorld() as world:
        world.send(*IDS)

        world.receive(batch_size=10)

        assert world.write_path.retry.postponed == []
        assert world.stored() == set(IDS)


def test_a_crash_record_ends_the_main_lane_once_and_its_neighbours_are_stored() -> None:
    """P5: nothing is parked."""
    with CrashWorld("m-4") as world:
        bodies = [envelope(each) for each in IDS]
        assert not world.deliver(*bodies)

        assert world.deliver(*bodies, redelivered=10)
        world.read_until_settled()

        assert world.stored() == set(IDS) - {"m-4"}
        assert world.dead() == ["m-4"]


def test_new_records_are_stored_beside_redelivered_ones() -> None:
    """P5: at once."""
    with CrashWorld("m-1") as world:
        assert world.deliver(envelope("m-1"), envelope("m-2"), envelope("m-3"), redelivered=1)

        assert world.stored() == {"m-2", "m-3"}
        assert world.waiting() == ["m-1"]


def test_redelivered_records_go_to_the_retry_queue_unchanged_with_a_reason() -> None:
    with CrashWorld() as world:
        world.deliver(b"\xff\x00 whatever", redelivered=1)

        (record,) = world.write_path.retry.records
        assert record.body == b"\xff\x00 whatever"
        assert (record.attributes["reason"], record.attributes["lane"]) == ("Redelivered", "main")


def test_redelivered_records_that_sqs_refuses_are_stored_at_once() -> None:
    """P1: an outage of SQS delays no event that the table can store."""
    with CrashWorld() as world:
        world.write_path.retry.refuse_next(2)

        assert world.deliver(*(envelope(each) for each in IDS), redelivered=5)

        assert world.stored() == {"m-0", "m-1", *IDS[5:]}
        assert world.waiting() == IDS[2:5]
        assert world.write_path.waits == []
