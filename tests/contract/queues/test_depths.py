"""The depths of queues, from a real broker."""

from __future__ import annotations

import json
import time

import pytest
from pika import BasicProperties, BlockingConnection, URLParameters

from headrace.core.errors import BrokerUnavailable
from headrace.queues.names import PARKED_QUEUE, PERSIST_EXCHANGE, persist_queues
from headrace.queues.ports import QueueDepth
from headrace.queues.rabbitmq.topology import declare, queue_depths
from headrace.runtime.settings import BrokerSettings
from localstage.core.tcp_proxy import TcpProxy
from tests.contract.rabbit import Rabbit
from tests.fakes.secrets import MemorySecrets
from tests.worlds.ports import free_port

GUEST = json.dumps({"username": "guest", "password": "guest"})
NAMES = [*persist_queues({"chat": 2}), PARKED_QUEUE]
SECONDS = 2.0


def settings(*urls: str) -> BrokerSettings:
    return BrokerSettings(broker_endpoints=(urls,), broker_secret_arn="arn", persist_queues={"chat": 2})


def secrets(text: str = GUEST) -> MemorySecrets:
    return MemorySecrets({"arn": text})


@pytest.fixture
def url(rabbit: Rabbit) -> str:
    """An empty virtual host with its topology."""
    url = rabbit.virtual_host()
    declare(settings(url), secrets(), seconds=20)
    return url


def test_depths_equal_the_message_counts_of_the_broker(url: str) -> None:
    connection = BlockingConnection(URLParameters(url))
    channel = connection.channel()
    channel.confirm_delivery()
    for _ in range(3):
        channel.basic_publish(PERSIST_EXCHANGE, "persist.chat.1", b"kept", BasicProperties(delivery_mode=2))
    channel.basic_consume("persist.chat.0", lambda *_: None)
    connection.process_data_events(0)

    expected = {"persist.chat.0": QueueDepth(0, 1), "persist.chat.1": QueueDepth(3, 0), PARKED_QUEUE: QueueDepth(0, 0)}
    deadline = time.monotonic() + 15
    while (found := queue_depths(settings(url), secrets(), NAMES, SECONDS)) != expected:
        assert time.monotonic() < deadline, found
    connection.close()


def test_a_missing_queue_is_reported_beside_the_depths_of_the_others(url: str) -> None:
    with BlockingConnection(URLParameters(url)) as connection:
        connection.channel().queue_delete("persist.chat.0")

    found = queue_depths(settings(url), secrets(), NAMES, SECONDS)

    assert found == {
        "persist.chat.0": "there is no such queue",
        "persist.chat.1": QueueDepth(0, 0),
        PARKED_QUEUE: QueueDepth(0, 0),
    }


def test_an_unavailable_broker_is_an_error() -> None:
    with pytest.raises(BrokerUnavailable):
        queue_depths(settings(f"amqp://127.0.0.1:{free_port()}"), secrets(), NAMES, SECONDS)


def test_a_broker_without_a_handshake_is_given_up_in_time(rabbit: Rabbit) -> None:
    proxy = TcpProxy(rabbit.port)
    proxy.to_client = lambda _: b""
    try:
        with pytest.raises(BrokerUnavailable):
            queue_depths(settings(f"amqp://127.0.0.1:{proxy.port}"), secrets(), NAMES, 0.3)
    finally:
        proxy.close()


@pytest.mark.long
def test_a_broker_silent_after_the_handshake_is_given_up_in_time(rabbit: Rabbit) -> None:
    proxy = TcpProxy(rabbit.port)
    swallowed = []

    def swallow_after_the_handshake(data: bytes) -> bytes:
        # queue.declare is class 50, method 10: it never gets an answer.
        if b"\x00\x32\x00\x0a" in data:
            proxy.to_client = lambda _: b""
            swallowed.append(data)
        return data

    proxy.to_server = swallow_after_the_handshake
    try:
        with pytest.raises(BrokerUnavailable):
            queue_depths(settings(f"amqp://127.0.0.1:{proxy.port}"), secrets(), NAMES, SECONDS)
    finally:
        proxy.close()
    assert swallowed
