"""The in-memory queues of ``tests/model`` hide, count, move and park messages as the real ones do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import pytest
from pika import BlockingConnection, URLParameters

from headrace.queues.names import PARKED_QUEUE, PERSIST_EXCHANGE, persist_queues
from headrace.queues.ports import Outgoing
from headrace.queues.rabbitmq.topology import declare
from headrace.runtime.settings import BrokerSettings
from tests.contract.rabbit import Rabbit
from tests.fakes.queues import MemoryPublisher
from tests.fakes.secrets import MemorySecrets

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
