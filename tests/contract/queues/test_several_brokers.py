"""Publishing to one of several brokers, and asking all of them. Two virtual hosts of a node stand for two brokers."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from pika import BlockingConnection, URLParameters

from headrace.queues.ports import QueueDepth
from headrace.queues.rabbitmq import publisher as publishing
from headrace.queues.rabbitmq.parked import ParkingQueue, ParkingQueues
from headrace.queues.rabbitmq.publisher import RabbitPublisher
from headrace.queues.rabbitmq.topology import declare, queue_depths
from headrace.runtime.settings import BrokerSettings
from localstage.core.tcp_proxy import TcpProxy
from tests.contract.rabbit import GUEST, PATIENT, QUEUES, Rabbit, drain, outgoing, settings
from tests.fakes.queues import MemoryRetryLane
from tests.fakes.secrets import MemorySecrets
from tests.worlds.ports import free_port

SECRETS = MemorySecrets({"arn": GUEST})
STALE = '{"username": "guest", "password": "old"}'


class Two:
    """A publisher with two brokers; the own one is behind ``proxy``."""

    def __init__(self, own: str, other: str) -> None:
        self.own, self.other = own, other
        for url in (own, other):
            drain(url)
        self.proxy = TcpProxy(urlsplit(own).port or 0)
        through = f"amqp://127.0.0.1:{self.proxy.port}{urlsplit(own).path}"
        self.settings = both(through, self.other)
        self.publisher = RabbitPublisher(self.settings, SECRETS, PATIENT)
        assert self.publisher.publish([outgoing("first")]) == [None]

    def close(self) -> None:
        self.publisher.close()
        self.proxy.close()


def both(first: str, second: str) -> BrokerSettings:
    return BrokerSettings(broker_endpoints=((first,), (second,)), broker_secret_arn="arn", persist_queues=QUEUES)


@pytest.fixture(scope="module")
def hosts(rabbit: Rabbit) -> list[str]:
    urls = [rabbit.virtual_host(), rabbit.virtual_host()]
    for url in urls:
        declare(settings(url), SECRETS, seconds=20)
    return urls


@pytest.fixture
def two(hosts: list[str]) -> Iterator[Two]:
    made = Two(*hosts)
    yield made
    made.close()


def test_events_go_to_the_other_broker_when_the_own_one_is_gone(two: Two) -> None:
    two.proxy.cut()
    two.publisher._keeper._settings = both(f"amqp://127.0.0.1:{free_port()}", two.other)

    assert two.publisher.publish([outgoing("second")]) == [None]
    assert drain(two.other) == [b"second"]


def test_events_go_to_the_other_broker_when_the_own_one_is_silent(two: Two) -> None:
    """P2: the silent one may have the event too."""
    two.publisher.budget = 5
    two.proxy.to_client = lambda _: b""

    assert two.publisher.publish([outgoing("second")]) == [None]
    assert drain(two.other) == [b"second"]


def test_events_go_to_the_other_broker_while_the_own_one_blocks_publishers(two: Two) -> None:
    channel = two.publisher._keeper.channel
    assert channel is not None
    channel._blocked = True

    assert two.publisher.publish([outgoing("second")]) == [None]
    assert drain(two.other) == [b"second"]


def test_a_publisher_returns_to_its_own_broker_after_a_while(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "AWAY_SECONDS", 1000.0)
    two.proxy.cut()
    two.proxy.to_server = lambda _: b""
    assert two.publisher.publish([outgoing("second")]) == [None]
    two.proxy.pass_all()
    assert two.publisher.publish([outgoing("third")]) == [None]
    two.publisher._keeper._back_at = 0

    assert two.publisher.publish([outgoing("fourth")]) == [None]

    assert drain(two.other) == [b"second", b"third"]
    assert drain(two.own) == [b"first", b"fourth"]


def test_a_publisher_that_opened_to_the_other_broker_leaves_it_when_it_fails(two: Two) -> None:
    two.publisher._keeper._settings = both(f"amqp://127.0.0.1:{free_port()}", two.other)
    two.publisher.close()
    assert two.publisher.publish([outgoing("second")]) == [None]
    two.publisher._keeper._settings = two.settings
    channel = two.publisher._keeper.channel
    assert channel is not None
    channel._blocked = True

    assert two.publisher.publish([outgoing("third")]) == [None]

    assert (drain(two.own), drain(two.other)) == ([b"first", b"third"], [b"second"])


def test_credentials_that_one_broker_refuses_are_read_again_while_another_is_gone(hosts: list[str]) -> None:
    secrets = MemorySecrets({"arn": STALE})
    publisher = RabbitPublisher(both(hosts[0], f"amqp://127.0.0.1:{free_port()}"), secrets, PATIENT)
    publisher._keeper.read_credentials()
    secrets.values["arn"] = GUEST

    assert publisher.publish([outgoing()]) == [None]

    publisher.close()
    drain(hosts[0])


def test_depths_are_those_of_all_brokers_and_a_lost_one_is_named(two: Two) -> None:
    depths = queue_depths(two.settings, SECRETS, ["persist.chat.7"], 5)
    assert depths.keys() == {"persist.chat.7", "persist.chat.7 of broker 2"}

    without = both(two.own, f"amqp://127.0.0.1:{free_port()}")
    depths = queue_depths(without, SECRETS, ["parked"], 5)
    assert depths == {"parked": QueueDepth(0, 0), "broker 2": depths["broker 2"]}
    assert "unavailable" in str(depths["broker 2"])


def test_parked_messages_are_those_of_all_brokers(two: Two) -> None:
    for url, count in ((two.own, 2), (two.other, 3)):
        park(url, count)
    lost = f"amqp://127.0.0.1:{free_port()}"
    queues = [ParkingQueue(settings(url), SECRETS, MemoryRetryLane()) for url in (two.own, lost, two.other)]

    assert ParkingQueues([queues[0], queues[2]]).depth() == 5
    done = ParkingQueues(queues).requeue("retry", 4, 100, 10)
    assert (done.returned, done.left) == (4, 1)
    assert done.failure.startswith("broker 2: the broker is unavailable")


def park(url: str, count: int) -> None:
    with BlockingConnection(URLParameters(url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        for number in range(count):
            channel.basic_publish("headrace.parked", "", str(number).encode())
