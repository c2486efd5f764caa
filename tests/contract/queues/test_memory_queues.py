"""The in-memory queues of ``tests/model`` hide, count, move and park messages as the real ones do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Protocol

import pytest
from pika import BlockingConnection, URLParameters

from headrace.delivery.retry_schedule import RECEIVES
from headrace.queues.names import PARKED_QUEUE, PERSIST_EXCHANGE, persist_queues
from headrace.queues.ports import Outgoing, RetryRecord
from headrace.queues.rabbitmq.topology import declare
from headrace.queues.sqs import SqsRetryLane
from headrace.runtime.aws import client
from headrace.runtime.settings import BrokerSettings
from tests.contract.emulators import sdk
from tests.contract.rabbit import Rabbit
from tests.fakes.clock import FixedClock
from tests.fakes.queues import MemoryPublisher, MemoryRetryLane
from tests.fakes.secrets import MemorySecrets

LONG = 600
Seen = list[tuple[str, int, str]]
"""Body, number of receives and receipt of each record."""


class RetryQueue(Protocol):
    """The retry lane as its trigger sees it."""

    lane: Any

    def receive(self, hidden: int) -> Seen: ...

    def delete(self, receipt: str) -> None: ...

    def dead(self) -> list[str]: ...


class InMemory:
    def __init__(self) -> None:
        self.lane = MemoryRetryLane(FixedClock(0), receives=RECEIVES)

    def receive(self, hidden: int) -> Seen:
        self.lane.visibility = hidden
        return [(each.record.body.decode(), each.received, each.receipt) for each in self.lane.receive()]

    def delete(self, receipt: str) -> None:
        self.lane.delete([receipt])

    def dead(self) -> list[str]:
        return [each.record.body.decode() for each in self.lane.dead.receive(10, LONG)]


class OnSqs:
    def __init__(self) -> None:
        self.sqs = sdk("sqs")
        self._dead = self.sqs.create_queue(QueueName="DeadLetterQueue")["QueueUrl"]
        asked = self.sqs.get_queue_attributes(QueueUrl=self._dead, AttributeNames=["QueueArn"])
        policy = {"deadLetterTargetArn": asked["Attributes"]["QueueArn"], "maxReceiveCount": str(RECEIVES)}
        attributes = {"RedrivePolicy": json.dumps(policy)}
        self._url = self.sqs.create_queue(QueueName="RetryQueue", Attributes=attributes)["QueueUrl"]
        self.lane = SqsRetryLane(self._url, client("sqs"))

    def delete(self, receipt: str) -> None:
        self.sqs.delete_message(QueueUrl=self._url, ReceiptHandle=receipt)

    def receive(self, hidden: int) -> Seen:
        return [
            (each["Body"], int(each["Attributes"]["ApproximateReceiveCount"]), each["ReceiptHandle"])
            for each in self._receive(self._url, hidden)
        ]

    def dead(self) -> list[str]:
        return [each["Body"] for each in self._receive(self._dead, LONG)]

    def _receive(self, url: str, hidden: int) -> list[dict[str, Any]]:
        answer = self.sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=hidden, AttributeNames=["All"]
        )
        messages: list[dict[str, Any]] = answer.get("Messages", [])
        return messages

    def remove(self) -> None:
        for url in (self._url, self._dead):
            self.sqs.delete_queue(QueueUrl=url)
        self.sqs.close()


@pytest.fixture(params=["memory", "ministack"])
def queue(request: pytest.FixtureRequest) -> Iterator[RetryQueue]:
    if request.param == "memory":
        yield InMemory()
        return
    request.getfixturevalue(request.param)
    made = OnSqs()
    yield made
    made.remove()


def test_a_received_record_is_hidden_and_its_receives_are_counted(queue: RetryQueue) -> None:
    queue.lane.send([RetryRecord(b"record")])

    ((body, received, receipt),) = queue.receive(LONG)
    assert (body, received) == ("record", 1)
    assert queue.receive(LONG) == []

    queue.lane.postpone({receipt: 0})
    ((_, received, receipt),) = queue.receive(LONG)
    assert received == 2

    queue.delete(receipt)
    assert queue.receive(LONG) == queue.dead() == []


def test_a_record_is_dead_after_its_maximum_of_receives(queue: RetryQueue) -> None:
    queue.lane.send([RetryRecord(b"poison")])

    assert [queue.receive(0)[0][1] for _ in range(RECEIVES)] == list(range(1, RECEIVES + 1))
    assert queue.dead() == []

    assert queue.receive(0) == []
    assert queue.dead() == ["poison"]


LIMIT = 2


class PersistQueue(Protocol):
    """A persist queue as its trigger sees it."""

    def publish(self, body: str) -> None: ...

    def deliver_and_give_back(self) -> list[str]: ...

    def parked(self) -> list[str]: ...


class PersistInMemory:
    def __init__(self) -> None:
        self._broker = MemoryPublisher(persist_queues({"chat": 1}), LIMIT)

    def publish(self, body: str) -> None:
        assert self._broker.publish([Outgoing("persist.chat.0", body.encode(), "c")]) == [None]

    def deliver_and_give_back(self) -> list[str]:
        bodies = [each.body.decode() for each in self._broker.deliver("persist.chat.0", 10)]
        self._broker.give_back("persist.chat.0")
        return bodies

    def parked(self) -> list[str]:
        return [each.body.decode() for each in self._broker.parked]


class PersistOnRabbit:
    def __init__(self, url: str) -> None:
        settings = BrokerSettings(broker_endpoints=((url,),), broker_secret_arn="arn", persist_queues={"chat": 1})
        secrets = MemorySecrets({"arn": '{"username": "guest", "password": "guest"}'})
        declare(settings, secrets, seconds=20, delivery_limit=LIMIT)
        self.connection = BlockingConnection(URLParameters(url))
        self._channel = self.connection.channel()
        self._channel.confirm_delivery()

    def publish(self, body: str) -> None:
        self._channel.basic_publish(PERSIST_EXCHANGE, "persist.chat.0", body.encode(), mandatory=True)

    def deliver_and_give_back(self) -> list[str]:
        bodies, tags = [], []
        while (got := self._channel.basic_get("persist.chat.0"))[0] is not None:
            bodies.append(got[2].decode())
            tags.append(got[0].delivery_tag)
        for tag in tags:
            self._channel.basic_reject(tag, requeue=True)
        return bodies

    def parked(self) -> list[str]:
        """Wait up to five seconds for the parked messages: dead-lettering is asynchronous."""
        found = self._channel.consume(PARKED_QUEUE, auto_ack=True, inactivity_timeout=5)
        _, _, body = next(iter(found))
        self._channel.cancel()
        return [] if body is None else [body.decode()]


@pytest.fixture(params=["memory", "rabbitmq"])
def persist_queue(request: pytest.FixtureRequest) -> Iterator[PersistQueue]:
    if request.param == "memory":
        yield PersistInMemory()
        return
    rabbit: Rabbit = request.getfixturevalue("rabbit")
    made = PersistOnRabbit(rabbit.virtual_host())
    yield made
    made.connection.close()


def test_a_message_returned_too_often_is_parked_and_not_lost(persist_queue: PersistQueue) -> None:
    """Fault 8: queues that drop, with no dead-letter exchange."""
    persist_queue.publish("crash record")

    assert [persist_queue.deliver_and_give_back() for _ in range(LIMIT + 1)] == [["crash record"]] * (LIMIT + 1)

    assert persist_queue.parked() == ["crash record"]
    assert persist_queue.deliver_and_give_back() == []
