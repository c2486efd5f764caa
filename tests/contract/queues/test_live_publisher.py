"""Live copies on a real broker: best effort, given up quickly, and never blocking persistence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from pika import BlockingConnection, URLParameters

from headrace.core.errors import BrokerUnavailable, ConnectionLost
from headrace.core.times import SECOND
from headrace.queues.names import LIVE_EXCHANGE, SIGNAL_QUEUE, live_queues
from headrace.queues.ports import Outgoing
from headrace.queues.rabbitmq import publisher as publishing
from headrace.queues.rabbitmq.publisher import SEND_SECONDS, ChannelKeeper, LiveChannel, RabbitLivePublisher
from headrace.queues.rabbitmq.topology import declare
from headrace.runtime.breaker import COOLDOWN_SECONDS
from localstage.core.tcp_proxy import TcpProxy
from tests.contract.rabbit import (
    GUEST,
    PATIENT,
    Rabbit,
    declared_broker,  # noqa: F401 - a fixture
    publisher_to,
    settings,
)
from tests.fakes.clock import FixedClock
from tests.fakes.secrets import MemorySecrets
from tests.worlds.ports import free_port

QUEUE = live_queues()[0]


class Live:
    """A publisher whose cool-downs end when the test advances the clock."""

    def __init__(self, url: str, secrets: MemorySecrets | None = None) -> None:
        self.clock = FixedClock(0)
        self.secrets = secrets or MemorySecrets({"arn": GUEST})
        self.publisher = RabbitLivePublisher(
            ChannelKeeper(LiveChannel, settings(url), self.secrets), lambda: self.clock.now() / SECOND
        )

    def publish(self, *bodies: str) -> BrokerUnavailable | None:
        return self.publisher.publish([Outgoing(QUEUE, body.encode(), "c") for body in bodies])


@pytest.fixture(autouse=True)
def patient_live(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONNECT_SECONDS", "SEND_SECONDS"):
        monkeypatch.setattr(publishing, name, PATIENT)


@pytest.fixture
def live(broker: Rabbit) -> Iterator[Live]:
    made = Live(broker.url)
    yield made
    made.publisher.close()


def taken(broker: Rabbit, count: int, queue: str = QUEUE) -> list[str]:
    """Wait until the live queue has ``count`` messages, and take them out."""
    connection = BlockingConnection(URLParameters(broker.url))
    channel = connection.channel()
    found: list[str] = []
    for _ in range(300):
        while (got := channel.basic_get(queue, auto_ack=True))[0] is not None:
            found.append(got[2].decode())
        if len(found) >= count:
            break
        time.sleep(0.02)
    connection.close()
    return found


def test_copies_arrive_in_order_over_one_connection(broker: Rabbit, live: Live) -> None:
    assert live.publish() is None
    assert live.publish("1", "2") is None
    link = live.publisher._keeper.channel
    assert live.publish("3" * 30_000) is None

    assert taken(broker, 3) == ["1", "2", "3" * 30_000]
    assert live.publisher._keeper.channel is link


def test_live_copies_without_a_queue_are_dropped_without_an_error(broker: Rabbit, live: Live) -> None:
    assert live.publisher.publish([Outgoing("live.99", b"x", "c")]) is None
    assert live.publish("after") is None

    assert taken(broker, 1) == ["after"]


def test_a_connection_that_was_cut_while_idle_is_replaced(broker: Rabbit) -> None:
    proxy = TcpProxy(broker.port)
    live = Live(f"amqp://127.0.0.1:{proxy.port}")
    assert live.publish("before") is None
    assert taken(broker, 1) == ["before"]

    proxy.cut()
    notice_the_end(live)

    assert live.publish("after") is None
    assert taken(broker, 1) == ["after"]
    live.publisher.close()
    proxy.close()


def notice_the_end(live: Live) -> None:
    for _ in range(1000):
        if live.publisher._keeper.channel is None or not live.publisher._keeper.channel.notice():
            return
        time.sleep(0.01)


def test_a_missing_exchange_only_closes_the_connection(broker: Rabbit, live: Live) -> None:
    connection = BlockingConnection(URLParameters(broker.url))
    connection.channel().exchange_delete(LIVE_EXCHANGE)

    assert live.publish("into nothing") is None
    notice_the_end(live)
    declare(settings(broker.url), live.secrets)
    assert live.publish("again") is None

    assert taken(broker, 1) == ["again"]
    connection.close()


def test_an_unavailable_broker_is_tried_once_per_cooldown(broker: Rabbit) -> None:
    live = Live(f"amqp://127.0.0.1:{free_port()}")

    assert isinstance(live.publish("1"), ConnectionLost)
    reads = live.secrets.reads
    for _ in range(1000):
        assert isinstance(live.publish("1"), ConnectionLost)

    assert live.secrets.reads == reads
    assert live.publisher._keeper.channel is None
    live.clock.advance(COOLDOWN_SECONDS)
    live.publisher = RabbitLivePublisher(
        ChannelKeeper(LiveChannel, settings(broker.url), live.secrets), lambda: live.clock.now() / SECOND
    )
    assert live.publish("2") is None
    assert taken(broker, 1) == ["2"]
    live.publisher.close()


def test_a_broker_that_stops_reading_does_not_delay_the_batch(
    broker: Rabbit, live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert live.publish("before") is None
    assert taken(broker, 1) == ["before"]
    monkeypatch.setattr(publishing, "SEND_SECONDS", SEND_SECONDS)
    broker.freeze()
    try:
        failures = [live.publish("x" * 30_000) for _ in range(1000)]
    finally:
        broker.thaw()

    assert any(isinstance(failure, ConnectionLost) for failure in failures)
    live.clock.advance(COOLDOWN_SECONDS)
    assert live.publish("after") is None
    # The broker may read the rest of the lost connection after it.
    assert "after" in taken(broker, 10_000)


def test_a_blocked_broker_gets_no_copies_until_it_is_unblocked(broker: Rabbit, live: Live) -> None:
    assert live.publish("before") is None
    broker.control("eval", "rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}).")
    try:
        failures = []
        for _ in range(200):
            failures.append(live.publish("x"))
            if failures[-1] is not None:
                break
            time.sleep(0.01)
        assert failures[-1] is not None
    finally:
        broker.control("eval", "rabbit_alarm:clear_alarm({resource_limit, memory, node()}).")
    for _ in range(200):
        live.clock.advance(COOLDOWN_SECONDS)
        if live.publish("after") is None:
            break
        time.sleep(0.01)

    assert taken(broker, len(failures) + 1)[-1] == "after"


class SlowSecrets(MemorySecrets):
    """A read takes longer than a connection may."""

    def get_secret_value(self, **asked: Any) -> dict[str, Any]:
        time.sleep(3)
        return super().get_secret_value(**asked)


def test_reading_the_secret_does_not_count_as_connection_time(broker: Rabbit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "CONNECT_SECONDS", 2.5)
    live = Live(broker.url, SlowSecrets({"arn": GUEST}))

    assert live.publish("1") is None

    assert taken(broker, 1) == ["1"]
    live.publisher.close()


def test_signals_use_the_connection_of_events_and_their_confirms_settle_nothing(broker: Rabbit) -> None:
    events = publisher_to(broker.url)
    signals = events.live_publisher()
    event = Outgoing("persist.chat.0", b"event", "c")

    assert signals.publish([Outgoing(SIGNAL_QUEUE, b"1", "c"), Outgoing("live.99", b"no queue", "c")]) is None
    link = events._keeper.channel
    assert events.publish([event, event]) == [None, None]
    assert signals.publish([Outgoing(SIGNAL_QUEUE, b"2", "c")]) is None
    assert events.publish([event, Outgoing("persist.chat.99", b"no queue", "c")])[0] is None

    assert taken(broker, 2, SIGNAL_QUEUE) == ["1", "2"]
    assert events._keeper.channel is link
    events.close()
