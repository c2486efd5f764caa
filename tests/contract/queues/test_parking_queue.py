"""The parking queue of a real broker, and requeueing its messages."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from pika import BasicProperties, BlockingConnection, URLParameters
from pika.adapters.blocking_connection import BlockingChannel

from headrace.core.envelope import Envelope
from headrace.core.errors import BrokerUnavailable
from headrace.queues.names import PARKED_QUEUE, PERSIST_EXCHANGE, persist_queues
from headrace.queues.ports import Outgoing
from headrace.queues.rabbitmq.parked import ParkingQueue, origin_queue
from headrace.queues.rabbitmq.topology import declare
from headrace.runtime.settings import BrokerSettings
from tests.contract.rabbit import Rabbit
from tests.fakes.queues import MemoryPublisher, MemoryRetryLane
from tests.fakes.secrets import MemorySecrets
from tests.worlds.ports import free_port

SECRETS = MemorySecrets({"arn": '{"username": "guest", "password": "guest"}'})
QUEUES = {"chat": 2, "ski": 1}
FAST = 1000.0
LIMIT = 2
"""Redeliveries that park a message."""


@pytest.fixture
def vhost(rabbit: Rabbit) -> str:
    """The URL of a virtual host with the topology; :data:`LIMIT` redeliveries park a message."""
    url = rabbit.virtual_host()
    declare(settings(url), SECRETS, seconds=20, delivery_limit=LIMIT)
    return url


@pytest.fixture
def channel(vhost: str) -> Iterator[BlockingChannel]:
    connection = BlockingConnection(URLParameters(vhost))
    channel = connection.channel()
    channel.confirm_delivery()
    yield channel
    if connection.is_open:
        connection.close()


def settings(url: str) -> BrokerSettings:
    return BrokerSettings(broker_endpoints=((url,),), broker_secret_arn="arn", persist_queues=QUEUES)


def depth(channel: BlockingChannel, queue: str) -> int:
    return int(channel.queue_declare(queue, passive=True).method.message_count)


def park(channel: BlockingChannel, queue: str, *bodies: bytes) -> int:
    """Publish messages and requeue them until the broker parks them; how often they were delivered."""
    before, delivered = depth(channel, PARKED_QUEUE), 0
    for body in bodies:
        channel.basic_publish(
            PERSIST_EXCHANGE, queue, body, BasicProperties(correlation_id="c-1", content_type="application/json")
        )
    deadline = time.monotonic() + 20
    while depth(channel, PARKED_QUEUE) < before + len(bodies):
        assert time.monotonic() < deadline, "the broker parked no message"
        method, _, _ = channel.basic_get(queue)
        if method is not None:
            channel.basic_reject(method.delivery_tag, requeue=True)
            delivered += 1
    return delivered


def taken(channel: BlockingChannel, queue: str) -> list[tuple[bytes, BasicProperties]]:
    found = []
    while (got := channel.basic_get(queue, auto_ack=True))[0] is not None:
        found.append((got[2], got[1]))
    return found


def test_the_queues_of_the_model_park_after_as_many_deliveries(channel: BlockingChannel) -> None:
    memory, delivered = MemoryPublisher(persist_queues({"chat": 1}), LIMIT), 0
    memory.publish([Outgoing("persist.chat.0", b"crash record", "c")])
    while memory.deliver("persist.chat.0", 10):
        memory.give_back("persist.chat.0")
        delivered += 1

    assert (delivered, len(memory.parked)) == (park(channel, "persist.chat.0", b"crash record"), 1)


def test_parked_messages_return_to_their_origin_queue_unchanged(vhost: str, channel: BlockingChannel) -> None:
    park(channel, "persist.chat.1", b"one", b"two")
    park(channel, "persist.chat.0", b"three")
    parking_queue = ParkingQueue(settings(vhost), SECRETS, MemoryRetryLane())

    assert parking_queue.depth() == 3
    came = parking_queue.requeue("main", 100, FAST, 10)

    assert (came.returned, came.left, came.failure) == (3, 0, "")
    assert sorted(body for body, _ in taken(channel, "persist.chat.1")) == [b"one", b"two"]
    ((body, properties),) = taken(channel, "persist.chat.0")
    assert (body, properties.correlation_id, properties.delivery_mode) == (b"three", "c-1", 2)
    assert set(properties.headers or {}) <= {"x-delivery-count"}  # 3.x has it at the first delivery
    assert declare(settings(vhost), SECRETS, delivery_limit=LIMIT).parked == 0


def test_requeueing_respects_its_limit_and_its_deadline(vhost: str, channel: BlockingChannel) -> None:
    park(channel, "persist.chat.1", *(str(number).encode() for number in range(6)))
    parking_queue = ParkingQueue(settings(vhost), SECRETS, MemoryRetryLane())

    limited = parking_queue.requeue("main", 2, FAST, 10)
    slow = parking_queue.requeue("main", 100, 0.5, 1)

    assert (limited.returned, limited.left) == (2, 4)
    assert (slow.returned, slow.left) == (1, 3)


def test_an_unroutable_message_stays_parked(vhost: str, channel: BlockingChannel) -> None:
    park(channel, "persist.chat.1", b"one", b"two")
    channel.queue_unbind("persist.chat.1", PERSIST_EXCHANGE, "persist.chat.1")
    parking_queue = ParkingQueue(settings(vhost), SECRETS, MemoryRetryLane())

    came = parking_queue.requeue("main", 100, FAST, 10)

    assert (came.returned, came.failure) == (0, "no queue is bound for persist.chat.1")
    assert parking_queue.depth() == 2


def test_parked_messages_can_go_to_the_retry_lane_and_stay_if_it_refuses(vhost: str, channel: BlockingChannel) -> None:
    park(channel, "persist.chat.1", b"one", b"two")
    retry = MemoryRetryLane()
    parking_queue = ParkingQueue(settings(vhost), SECRETS, retry)

    retry.down = True
    refused = parking_queue.requeue("retry", 100, FAST, 10)
    while parking_queue.depth() < 2:  # the broker is still taking back what the closed connection had
        time.sleep(0.05)
    retry.down = False
    came = parking_queue.requeue("retry", 100, FAST, 10)

    assert (refused.returned, bool(refused.failure)) == (0, True)
    assert (came.returned, came.left) == (2, 0)
    assert sorted(record.body for record in retry.records) == [b"one", b"two"]
    assert {record.attributes["reason"] for record in retry.records} == {"parked"}
    assert all(record.attributes["firstFailedAt"] for record in retry.records)


def test_without_a_broker_or_its_queue_the_depth_is_an_error(vhost: str, channel: BlockingChannel) -> None:
    channel.queue_delete(PARKED_QUEUE)
    with pytest.raises(BrokerUnavailable):
        ParkingQueue(settings(vhost), SECRETS, MemoryRetryLane()).depth()
    with pytest.raises(BrokerUnavailable):
        ParkingQueue(settings(f"amqp://127.0.0.1:{free_port()}"), SECRETS, MemoryRetryLane()).depth()


@pytest.mark.parametrize(
    ("headers", "home"),
    [
        ({"x-death": [{"queue": "persist.chat.1"}]}, "persist.chat.1"),
        ({"x-death": [{"queue": "gone", "routing-keys": ["persist.chat.1"]}]}, "persist.chat.1"),
        ({"x-death": [{"queue": "other"}, {"queue": "persist.chat.0"}]}, "persist.chat.0"),
        ({"x-death": [{"queue": "persist.ads.0"}]}, "persist.chat.1"),
        ({}, "persist.chat.1"),
    ],
)
def test_a_message_without_an_origin_gets_a_queue(headers: dict[str, object], home: str) -> None:
    assert origin_queue(headers, json.dumps("body").encode(), QUEUES) == home


def test_an_event_whose_queue_is_gone_gets_a_queue_of_its_stream() -> None:
    body = Envelope("ski", "c-1", "2025-11-21T10:00:00.000000Z", [{}]).encode()

    assert origin_queue({"x-death": [{"queue": "persist.3"}]}, body, QUEUES) == "persist.ski.0"
