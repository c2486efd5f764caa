"""The publisher during outages of a real broker and of the network in between."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from pika import BlockingConnection, URLParameters

from headrace.core.errors import ConnectionLost, PublisherBlocked, PublishNacked, PublishUnconfirmed
from headrace.queues.names import PERSIST_EXCHANGE
from headrace.queues.ports import Outcome, Outgoing
from headrace.queues.rabbitmq.publisher import BUDGET_SECONDS, RabbitPublisher
from localstage.core.tcp_proxy import TcpProxy
from tests.contract.rabbit import (
    PATIENT,
    Rabbit,
    declared_broker,  # noqa: F401 - a fixture
    drain,
    kinds,
    outgoing,
    publisher_to,
)


@pytest.fixture
def proxy(broker: Rabbit) -> Iterator[TcpProxy]:
    drain(broker.url)
    proxy = TcpProxy(broker.port)
    yield proxy
    proxy.close()


@pytest.fixture
def through(proxy: TcpProxy) -> Iterator[RabbitPublisher]:
    """A publisher whose every byte goes through the proxy."""
    publisher = publisher_to(f"amqp://127.0.0.1:{proxy.port}")
    yield publisher
    publisher.close()


def test_one_connection_serves_many_publishes(proxy: TcpProxy, through: RabbitPublisher) -> None:
    for number in range(20):
        assert through.publish([outgoing(str(number))]) == [None]

    assert proxy.connections == 1


def test_a_lost_connection_is_replaced_at_the_next_publish(
    proxy: TcpProxy, through: RabbitPublisher, broker: Rabbit
) -> None:
    through.publish([outgoing("1")])
    proxy.cut()

    assert through.publish([outgoing("2")]) == [None]

    assert drain(broker.url) == [b"1", b"2"]


def test_an_event_whose_confirm_was_cut_off_is_sent_over_a_new_connection(
    proxy: TcpProxy, through: RabbitPublisher, broker: Rabbit
) -> None:
    """P2: the broker has the message without a confirm, so the same message may be there twice."""
    through.publish([outgoing("1")])

    def cut_once(_: bytes) -> None:
        proxy.to_client = bytes

    proxy.to_client = cut_once

    assert through.publish([outgoing("2")]) == [None]
    assert proxy.connections == 2
    assert set(drain(broker.url)) == {b"1", b"2"}


def test_a_confirm_that_never_comes_is_unconfirmed_within_the_budget(
    proxy: TcpProxy, through: RabbitPublisher, broker: Rabbit
) -> None:
    through.publish([outgoing("1")])
    proxy.to_client = lambda _: b""
    through.budget = BUDGET_SECONDS

    start, waited = time.monotonic(), through.confirm_seconds
    outcomes = through.publish([outgoing("2"), outgoing("3")])
    taken, waited = time.monotonic() - start, through.confirm_seconds - waited

    assert kinds(outcomes) == [PublishUnconfirmed, PublishUnconfirmed]
    assert taken < 10
    assert taken / 2 < waited < taken  # the rest was for another connection
    proxy.pass_all()
    through.budget = PATIENT
    assert through.publish([outgoing("4")]) == [None]


def test_a_broker_that_never_answers_is_a_lost_connection(proxy: TcpProxy, through: RabbitPublisher) -> None:
    proxy.to_server = lambda _: b""
    through.budget = BUDGET_SECONDS

    assert kinds(through.publish([outgoing()])) == [ConnectionLost]
    assert through.confirm_seconds == 0

    proxy.pass_all()
    through.budget = PATIENT
    assert through.publish([outgoing()]) == [None]
    assert through.confirm_seconds > 0


def test_a_full_queue_refuses_messages_with_a_reason(broker: Rabbit, through: RabbitPublisher) -> None:
    """Fault 8: queues that drop when full."""
    connection = BlockingConnection(URLParameters(broker.url))
    channel = connection.channel()
    arguments = {"x-queue-type": "quorum", "x-max-length": 1, "x-overflow": "reject-publish"}
    channel.queue_declare("full", durable=True, arguments=arguments)
    channel.queue_bind("full", PERSIST_EXCHANGE, "full")

    outcomes: list[Outcome] = []
    for _ in range(50):
        outcomes += through.publish([Outgoing("full", b"x", "c")])

    channel.queue_delete("full")
    connection.close()
    assert outcomes[0] is None
    assert isinstance(outcomes[-1], PublishNacked)


def test_a_missing_exchange_is_a_lost_connection_and_not_an_accepted_event(broker: Rabbit) -> None:
    publisher = publisher_to(broker.virtual_host())

    assert kinds(publisher.publish([outgoing()])) == [ConnectionLost]

    publisher.close()


def test_a_blocked_broker_is_detected_and_remembered(broker: Rabbit, through: RabbitPublisher, proxy: TcpProxy) -> None:
    assert through.publish([outgoing()]) == [None]
    broker.control("eval", "vm_memory_monitor:set_vm_memory_high_watermark(0.000001).")
    try:
        outcomes = [through.publish([outgoing()])[0] for _ in range(3)]
    finally:
        broker.control("eval", "vm_memory_monitor:set_vm_memory_high_watermark(0.4).")

    assert kinds(outcomes) == [PublisherBlocked] * 3
    assert proxy.connections == 1
    deadline = time.monotonic() + 20
    while through.publish([outgoing()]) != [None]:
        assert time.monotonic() < deadline


@pytest.fixture
def trusted(broker: Rabbit, monkeypatch: pytest.MonkeyPatch) -> Rabbit:
    """The broker, whose certificate this process trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(broker.certificate))
    drain(broker.url)
    return broker


def test_many_large_messages_over_tls_are_all_confirmed(trusted: Rabbit) -> None:
    publisher = publisher_to(f"amqps://localhost:{trusted.tls_port}")
    text = "x" * 20_000

    for _ in range(3):
        assert publisher.publish([outgoing(text, number % 4) for number in range(150)]) == [None] * 150

    assert drain(trusted.url) == [text.encode()] * 450
    publisher.close()


def test_a_broker_whose_certificate_is_for_another_host_gets_nothing(trusted: Rabbit) -> None:
    publisher = publisher_to(f"amqps://127.0.0.1:{trusted.tls_port}")

    assert kinds(publisher.publish([outgoing()])) == [ConnectionLost]

    assert drain(trusted.url) == []


def test_a_host_without_an_address_is_a_lost_connection() -> None:
    publisher = publisher_to("amqp://nowhere.invalid:5672")

    assert kinds(publisher.publish([outgoing()])) == [ConnectionLost]


def test_a_large_batch_to_a_broker_that_stopped_reading_ends_within_the_budget(broker: Rabbit) -> None:
    drain(broker.url)
    publisher = publisher_to(broker.url)
    publisher.publish([outgoing()])
    publisher.budget = BUDGET_SECONDS
    broker.freeze()

    try:
        outcomes = publisher.publish([outgoing("x" * 100_000) for _ in range(100)])
    finally:
        broker.thaw()

    assert set(kinds(outcomes)) <= {ConnectionLost, PublishUnconfirmed}
    publisher.close()
