"""The broker's users, made by declare_topology on a real broker: what they may do, and how they are repaired."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pika import BasicProperties, BlockingConnection, ConnectionParameters, PlainCredentials
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker, ProbableAuthenticationError

from headrace.bootstrap import topology
from headrace.core.errors import BrokerUnavailable, ConfigurationError
from headrace.queues.names import LIVE_EXCHANGE, PARKED_EXCHANGE, PARKED_QUEUE, PERSIST_EXCHANGE
from headrace.queues.ports import Outgoing
from headrace.queues.rabbitmq.publisher import RabbitPublisher
from headrace.queues.rabbitmq.topology import queue_depths
from headrace.queues.rabbitmq.users import BrokerUsersSettings, ensure_users
from tests.contract.rabbit import GUEST, PATIENT, QUEUES, Rabbit, drain, outgoing
from tests.fakes.secrets import MemorySecrets
from tests.worlds.ports import free_port

PUBLISHER, CONSUMER = "headrace-publisher", "headrace-consumer"
PASSWORD = "a-password-of-20-letters"
ACCESS_REFUSED = 403
USER, RIGHTS = f"users/{PUBLISHER}", f"permissions/%2F/{PUBLISHER}"

pytestmark = pytest.mark.usefixtures("broker")


def login(username: str, password: str = PASSWORD) -> str:
    return json.dumps({"username": username, "password": password})


@pytest.fixture
def secrets() -> MemorySecrets:
    return MemorySecrets({"arn": GUEST, "publisher": login(PUBLISHER), "consumer": login(CONSUMER)})


def settings(
    rabbit: Rabbit, console: str = "", *, user: str = "arn", publisher: str = "publisher"
) -> BrokerUsersSettings:
    return BrokerUsersSettings(
        broker_endpoints=((rabbit.url,),),
        broker_secret_arn=user,
        persist_queues=QUEUES,
        broker_console_urls=(console or rabbit.console_url,),
        broker_publisher_secret_arn=publisher,
        broker_consumer_secret_arn="consumer",
    )


@pytest.fixture(autouse=True)
def users(rabbit: Rabbit, secrets: MemorySecrets) -> None:
    """Both users as they must be, and empty queues."""
    ensure_users(settings(rabbit), secrets)
    drain(rabbit.url)


@contextmanager
def connected(rabbit: Rabbit, username: str, password: str = PASSWORD) -> Iterator[BlockingChannel]:
    parameters = ConnectionParameters(
        "127.0.0.1", rabbit.port, credentials=PlainCredentials(username, password), connection_attempts=1
    )
    with BlockingConnection(parameters) as connection:
        yield connection.channel()


def refused(rabbit: Rabbit, username: str, action: Callable[[BlockingChannel], object]) -> bool:
    with connected(rabbit, username) as channel:
        channel.confirm_delivery()
        try:
            action(channel)
        except ChannelClosedByBroker as error:
            return error.reply_code == ACCESS_REFUSED
    return False


def publisher_of(rabbit: Rabbit, secrets: MemorySecrets) -> RabbitPublisher:
    return RabbitPublisher(settings(rabbit, user="publisher"), secrets, PATIENT)


def accepts(rabbit: Rabbit, username: str, password: str = PASSWORD) -> bool:
    try:
        with connected(rabbit, username, password):
            return True
    except ProbableAuthenticationError:
        return False


def test_the_publisher_publishes_events_and_live_copies(rabbit: Rabbit, secrets: MemorySecrets) -> None:
    publisher = publisher_of(rabbit, secrets)
    live = publisher.live_publisher()

    assert publisher.publish([outgoing("1"), outgoing("2", queue=3)]) == [None, None]
    assert live.publish([Outgoing("live.0", b"copy", "c-1"), Outgoing("live.signals", b"signal", "c-1")]) is None

    assert drain(rabbit.url) == [b"1", b"2"]
    with connected(rabbit, CONSUMER) as channel:
        for queue, sent in (("live.0", b"copy"), ("live.signals", b"signal")):
            assert next(body for _, _, body in channel.consume(queue, auto_ack=True, inactivity_timeout=4)) == sent
            channel.cancel()
    publisher.close()


ANYTHING_ELSE: dict[str, Callable[[BlockingChannel], object]] = {
    "publish to the default exchange": lambda channel: channel.basic_publish("", "persist.chat.0", b"no"),
    "publish to parked": lambda channel: channel.basic_publish(PARKED_EXCHANGE, "", b"no"),
    "publish to amq.direct": lambda channel: channel.basic_publish("amq.direct", "persist.chat.0", b"no"),
    "read parked": lambda channel: channel.basic_get(PARKED_QUEUE),
    "declare a queue": lambda channel: channel.queue_declare("persist.chat.9", durable=True),
    "declare a queue with a generated name": lambda channel: channel.queue_declare("", exclusive=True),
    "declare an exchange": lambda channel: channel.exchange_declare("headrace.other"),
    "delete a queue": lambda channel: channel.queue_delete("persist.chat.0"),
    "delete an exchange": lambda channel: channel.exchange_delete(PERSIST_EXCHANGE),
    "bind": lambda channel: channel.queue_bind("persist.chat.0", PERSIST_EXCHANGE, "other"),
    "unbind": lambda channel: channel.queue_unbind("persist.chat.0", PERSIST_EXCHANGE, "persist.chat.0"),
}
READS: dict[str, Callable[[BlockingChannel], object]] = {
    "consume": lambda channel: channel.basic_consume("persist.chat.0", lambda *_: None),
    "consume live": lambda channel: channel.basic_consume("live.0", lambda *_: None),
    "get": lambda channel: channel.basic_get("persist.chat.0"),
    "purge": lambda channel: channel.queue_purge("persist.chat.0"),
}
WRITES: dict[str, Callable[[BlockingChannel], object]] = {
    "publish": lambda channel: channel.basic_publish(PERSIST_EXCHANGE, "persist.chat.0", b"no"),
    "publish live": lambda channel: channel.basic_publish(LIVE_EXCHANGE, "live.0", b"no"),
}


@pytest.mark.parametrize("action", [*ANYTHING_ELSE, *READS])
def test_the_publisher_may_only_publish(rabbit: Rabbit, action: str) -> None:
    assert refused(rabbit, PUBLISHER, (ANYTHING_ELSE | READS)[action])


@pytest.mark.parametrize("action", [*ANYTHING_ELSE, *WRITES])
def test_the_consumer_may_only_read(rabbit: Rabbit, action: str) -> None:
    assert refused(rabbit, CONSUMER, (ANYTHING_ELSE | WRITES)[action])


def test_the_consumer_takes_acknowledges_and_returns_messages(rabbit: Rabbit) -> None:
    with connected(rabbit, "guest", "guest") as channel:
        for body in (b"1", b"2"):
            channel.basic_publish(PERSIST_EXCHANGE, "persist.chat.0", body, BasicProperties(delivery_mode=2))

    with connected(rabbit, CONSUMER) as channel:
        channel.basic_qos(prefetch_count=10)
        assert channel.queue_declare("persist.chat.0", passive=True).method.queue == "persist.chat.0"
        received = channel.consume("persist.chat.0", inactivity_timeout=10)
        for expected, settle in ((b"1", channel.basic_ack), (b"2", channel.basic_nack)):
            method, _, body = next(received)
            assert body == expected
            settle(method.delivery_tag)
        channel.cancel()

    assert drain(rabbit.url) == [b"2"]


def test_users_without_a_tag_are_refused_by_the_management_api(rabbit: Rabbit, secrets: MemorySecrets) -> None:
    """So no function that is taken over gives itself other permissions."""
    mine = settings(rabbit, user="publisher", publisher="arn")

    with pytest.raises(ConfigurationError, match="with 401"):
        ensure_users(mine, secrets)


def test_depths_of_queues_need_no_permission(rabbit: Rabbit, secrets: MemorySecrets) -> None:
    mine = settings(rabbit, user="publisher")

    assert queue_depths(mine, secrets, [PARKED_QUEUE], 5).keys() == {PARKED_QUEUE}


@pytest.mark.parametrize(
    ("damage", "repaired"),
    [
        (("DELETE", USER), ["is made", "has its permissions"]),
        (("PUT", USER, {"password": "another", "tags": ""}), ["has its password and no tags again"]),
        (("PUT", USER, {"password": PASSWORD, "tags": "administrator"}), ["has its password and no tags again"]),
        (("DELETE", RIGHTS), ["has its permissions"]),
        (("PUT", RIGHTS, {"configure": ".*", "write": ".*", "read": ".*"}), ["has its permissions again"]),
    ],
    ids=["user", "password", "tags", "no permissions", "permissions"],
)
def test_a_damaged_user_is_repaired_and_a_sound_one_left_alone(
    rabbit: Rabbit, secrets: MemorySecrets, damage: tuple[Any, ...], repaired: list[str]
) -> None:
    rabbit.manage(*damage)

    assert ensure_users(settings(rabbit), secrets) == [f"user {PUBLISHER} {each}" for each in repaired]

    assert ensure_users(settings(rabbit), secrets) == []
    publisher = publisher_of(rabbit, secrets)
    assert publisher.publish([outgoing("again")]) == [None]
    publisher.close()
    assert refused(rabbit, PUBLISHER, READS["get"])


def test_a_changed_secret_becomes_the_password_and_publishers_recover(rabbit: Rabbit, secrets: MemorySecrets) -> None:
    """Environments keep the secret that they have read, until the broker refuses it."""
    cached = MemorySecrets(secrets.values)
    kept_open, reconnecting = publisher_of(rabbit, secrets), publisher_of(rabbit, cached)
    assert kept_open.publish([outgoing("1")]) == reconnecting.publish([outgoing("2")]) == [None]
    reconnecting.close()

    for each in (secrets, cached):
        each.values["publisher"] = login(PUBLISHER, "rotated-password-of-30-letters")
    assert ensure_users(settings(rabbit), secrets) == [f"user {PUBLISHER} has its password and no tags again"]

    assert not accepts(rabbit, PUBLISHER)
    assert kept_open.publish([outgoing("3")]) == reconnecting.publish([outgoing("4")]) == [None]
    assert sorted(drain(rabbit.url)) == [b"1", b"2", b"3", b"4"]
    kept_open.close()
    reconnecting.close()


def test_the_certificate_of_the_management_api_is_verified(
    rabbit: Rabbit, secrets: MemorySecrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BrokerUnavailable, match="SSLError"):
        ensure_users(settings(rabbit, f"https://localhost:{rabbit.console_tls_port}"), secrets)
    monkeypatch.setenv("SSL_CERT_FILE", str(rabbit.certificate))
    with pytest.raises(BrokerUnavailable, match="SSLError"):
        ensure_users(settings(rabbit, f"https://127.0.0.1:{rabbit.console_tls_port}"), secrets)

    assert ensure_users(settings(rabbit, f"https://localhost:{rabbit.console_tls_port}"), secrets) == []


def test_queues_are_declared_and_measured_although_users_cannot_be_made(
    rabbit: Rabbit, secrets: MemorySecrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topology, "secrets", lambda: secrets)
    monkeypatch.setenv("BROKER_ENDPOINTS", rabbit.url)
    monkeypatch.setenv("BROKER_SECRET_ARN", "arn")
    monkeypatch.setenv("PERSIST_QUEUES", "chat=4")
    monkeypatch.setenv("BROKER_PUBLISHER_SECRET_ARN", "publisher")
    monkeypatch.setenv("BROKER_CONSUMER_SECRET_ARN", "consumer")
    monkeypatch.setenv("BROKER_CONSOLE_URLS", f"http://127.0.0.1:{free_port()}")

    report = topology.declare_topology(0.0)

    assert report.missing == [
        "the users of publishers and mappings: the broker's management API is unavailable: NewConnectionError"
    ]
    assert "queue persist.chat.0" in report.declared
    assert report.parked == 0
    monkeypatch.setenv("BROKER_CONSOLE_URLS", rabbit.console_url)
    assert topology.declare_topology(0.0).missing == []
