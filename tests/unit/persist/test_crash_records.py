"""Records that end the process over them: out of memory, out of time, a crash in a library (P5)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from headrace.core.envelope import Envelope, decode
from headrace.core.times import SECOND
from headrace.queues.memory import Message
from headrace.queues.ports import RetryRecord
from headrace.streams.chat.stream import CHAT
from tests.worlds.senders import CLOCK, NOW, message, sender
from tests.worlds.write_path import Lanes, rabbit_event, received_event


def envelope(*ids: str) -> bytes:
    return Envelope("chat", "c-1", NOW, [CHAT.accept(message(messageId=each), sender()).event for each in ids]).encode()


class Crashed(BaseException):
    """What a record does that ends the process: nothing catches it."""


class CrashWorld:
    """The lanes, and a function that the events ``crash_records`` end."""

    def __init__(self, *crash_records: str) -> None:
        self.lanes = Lanes()
        self.crash_records = crash_records
        self._start = CLOCK.now()
        store = self.lanes.store.put_many

        def put_many(table: Any, items: Any) -> Any:
            if any(item["messageId"] in self.crash_records for item in items):
                raise Crashed
            return store(table, items)

        self.lanes.store.put_many = put_many  # type: ignore[method-assign]

    def __enter__(self) -> CrashWorld:
        return self

    def __exit__(self, *_: object) -> None:
        CLOCK.advance((self._start - CLOCK.now()) / SECOND)

    def send(self, *ids: str) -> None:
        """Put each event into the retry lane, in a record of its own."""
        self.lanes.retry.send([RetryRecord(envelope(each)) for each in ids])

    def receive(self) -> list[Message]:
        """One batch of the retry lane."""
        batch = self.lanes.retry.receive()
        try:
            answer = self.lanes.persister.retry_lane(received_event(batch))
        except Crashed:
            return batch
        failed = {each["itemIdentifier"] for each in answer["batchItemFailures"]}
        self.lanes.retry.delete([each.receipt for each in batch if each.id not in failed])
        return batch

    def read_for(self, seconds: int) -> None:
        """The retry lane, read as soon as there is anything to read."""
        for _ in range(seconds):
            while self.receive():
                pass
            CLOCK.advance(1)

    def deliver(self, *bodies: bytes, redelivered: int = 0) -> bool:
        """One batch of the main lane, whose first records came back; whether the function answered."""
        event = rabbit_event(bodies)
        (records,) = event["rmqMessagesByQueue"].values()
        for record in records[:redelivered]:
            record["redelivered"] = True
        try:
            self.lanes.persister.main_lane(event, lambda: 60)
        except Crashed:
            return False
        return True

    def stored(self) -> set[str]:
        return {row["messageId"] for row in self.lanes.rows()}

    def waiting(self) -> list[str]:
        return [each["messageId"] for each in self.lanes.retried()]

    def dead(self) -> list[str]:
        return [decode(each.record.body).events[0]["messageId"] for each in self.lanes.retry.dead.messages]


IDS = [f"m-{number}" for number in range(10)]


@pytest.mark.parametrize("pause", [360, 1000])
def test_one_crash_record_takes_no_neighbour_with_it_however_seldom_the_retry_lane_is_read(pause: int) -> None:
    """P5: the crash record alone reaches the dead lane."""
    with CrashWorld("m-4") as world:
        world.send(*IDS)

        for _ in range(10):
            world.receive()
            CLOCK.advance(pause)

        assert world.stored() == set(IDS) - {"m-4"}
        assert world.dead() == ["m-4"]
        assert world.waiting() == []


@pytest.mark.parametrize("seed", range(5))
def test_many_crash_records_take_no_neighbour_with_them(seed: int) -> None:
    """P5: as long as the retry lane is read all the while."""
    chosen = random.Random(seed)
    ids = [f"m-{number}" for number in range(24)]
    crash_records = chosen.sample(ids, 8)
    with CrashWorld(*crash_records) as world:
        world.send(*ids)

        world.read_for(3600)

        assert world.stored() == set(ids) - set(crash_records)
        assert sorted(world.dead()) == sorted(crash_records)
        assert world.waiting() == []


def test_what_was_beside_a_crash_record_twice_comes_again_alone() -> None:
    with CrashWorld("m-4", "m-5") as world:
        world.send(*IDS)
        world.receive()
        CLOCK.advance(360)
        world.receive()

        batches = []
        for _ in range(1100):
            batches.append(world.receive())
            CLOCK.advance(1)

        assert max(map(len, batches)) == 1


def test_what_is_new_is_stored_and_deleted_before_one_that_may_crash_is_touched() -> None:
    with CrashWorld("crash") as world:
        world.send("crash")
        world.receive()
        CLOCK.advance(1000)
        world.send("1", "2", "3")

        world.receive()

        assert world.stored() == {"1", "2", "3"}
        assert world.waiting() == ["crash"]


def test_a_new_crash_record_takes_none_down_that_came_again_beside_it() -> None:
    with CrashWorld("crash") as world:
        world.lanes.store.throttled = lambda row: row["messageId"] == "again"
        world.send("again")
        world.receive()
        world.lanes.store.throttled = lambda _row: False
        CLOCK.advance(15)
        world.send("crash")
        world.receive()

        came = []
        for _ in range(500):
            came.extend([len(batch) for batch in [world.receive()] if batch])
            CLOCK.advance(1)

        assert "again" in world.stored()
        assert set(came) == {1}


def test_a_batch_of_new_records_costs_no_call_beyond_those_that_store_it() -> None:
    with CrashWorld() as world:
        world.send(*IDS)

        world.receive()

        assert world.lanes.retry.postponed == []
        assert world.stored() == set(IDS)


def test_a_crash_record_in_the_main_lane_ends_the_function_once_and_leaves_its_neighbours_to_be_stored() -> None:
    """P5: nothing is parked."""
    with CrashWorld("m-4") as world:
        bodies = [envelope(each) for each in IDS]
        assert not world.deliver(*bodies)

        assert world.deliver(*bodies, redelivered=10)
        world.read_for(3600)

        assert world.stored() == set(IDS) - {"m-4"}
        assert world.dead() == ["m-4"]


def test_what_is_new_is_stored_beside_what_came_back() -> None:
    """P5: at once."""
    with CrashWorld("m-1") as world:
        assert world.deliver(envelope("m-1"), envelope("m-2"), envelope("m-3"), redelivered=1)

        assert world.stored() == {"m-2", "m-3"}
        assert world.waiting() == ["m-1"]


def test_what_came_back_is_handed_on_as_it_is_with_the_reason() -> None:
    with CrashWorld() as world:
        world.deliver(b"\xff\x00 whatever", redelivered=1)

        (record,) = world.lanes.retry.records
        assert record.body == b"\xff\x00 whatever"
        assert (record.attributes["reason"], record.attributes["lane"]) == ("Redelivered", "main")


def test_what_came_back_and_the_retry_lane_does_not_take_is_stored_as_ever() -> None:
    """P1: an outage of SQS holds up nothing that the table would take."""
    with CrashWorld() as world:
        world.lanes.retry.refuse_next(2)

        assert world.deliver(*(envelope(each) for each in IDS), redelivered=5)

        assert world.stored() == {"m-0", "m-1", *IDS[5:]}
        assert world.waiting() == IDS[2:5]
        assert world.lanes.waits == []
