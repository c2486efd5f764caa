"""What waits in persist queues that no group has any more goes to other queues of the group."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from pika import BasicProperties, BlockingConnection, URLParameters
from pika.adapters.blocking_connection import BlockingChannel

from headrace.core.envelope import Envelope
from headrace.queues.names import PERSIST_EXCHANGE, persist_queues
from headrace.queues.rabbitmq.former_queues import empty_former_queues
from headrace.queues.rabbitmq.topology import declare
from headrace.queues.rabbitmq.users import BrokerUsersSettings
from tests.contract.rabbit import GUEST, Rabbit
from tests.fakes.secrets import MemorySecrets

SECRETS = MemorySecrets({"arn": GUEST})
BEFORE = {"chat": 4, "ski": 1, "declared": 2}
AFTER = {"chat": 2, "ski": 1, "declared": 1}


def settings(rabbit: Rabbit, groups: dict[str, int]) -> BrokerUsersSettings:
    return BrokerUsersSettings(
        broker_endpoints=((rabbit.url,),),
        broker_secret_arn="arn",
        persist_queues=groups,
        broker_console_urls=(rabbit.console_url,),
        broker_publisher_secret_arn="publisher",
        broker_consumer_secret_arn="consumer",
    )


@pytest.fixture
def channel(rabbit: Rabbit) -> Iterator[BlockingChannel]:
    """Of a broker whose chat queues 2 and 3, and a queue from before there were streams, are of no use any more."""
    declare(settings(rabbit, BEFORE), SECRETS, seconds=20)
    connection = BlockingConnection(URLParameters(rabbit.url))
    channel = connection.channel()
    channel.queue_declare("persist.0", durable=True, arguments={"x-queue-type": "quorum"})
    channel.queue_bind("persist.0", PERSIST_EXCHANGE, "persist.0")
    channel.confirm_delivery()
    for queue in ("persist.0", *persist_queues(BEFORE)):
        channel.queue_purge(queue)
    yield channel
    connection.close()


def put(channel: BlockingChannel, queue: str, stream: str, correlation_id: str) -> None:
    body = Envelope(stream, correlation_id, "2025-11-21T10:00:00.000000Z", [{"text": correlation_id}]).encode()
    properties = BasicProperties(delivery_mode=2, correlation_id=correlation_id)
    channel.basic_publish(PERSIST_EXCHANGE, queue, body, properties, mandatory=True)


def taken(channel: BlockingChannel, queue: str) -> list[str]:
    found = []
    while (got := channel.basic_get(queue, auto_ack=True))[0] is not None:
        found.append(str(got[1].correlation_id))
    return found


def test_events_move_to_the_queues_of_their_groups(rabbit: Rabbit, channel: BlockingChannel) -> None:
    for number in range(20):
        put(channel, "persist.chat.3", "chat", f"c-{number}")
    put(channel, "persist.0", "chat", "old chat")
    put(channel, "persist.0", "ski", "old ski")
    put(channel, "persist.chat.1", "chat", "stays")
    put(channel, "persist.declared.1", "doors", "an opening")

    moved = empty_former_queues(settings(rabbit, AFTER), SECRETS, 20)

    assert moved == {"persist.0": 2, "persist.chat.3": 20, "persist.declared.1": 1}
    one, two = (taken(channel, queue) for queue in persist_queues({"chat": 2}))
    assert len(one) > 1
    assert len(two) > 1
    assert sorted(one + two) == sorted([*(f"c-{number}" for number in range(20)), "old chat", "stays"])
    assert taken(channel, "persist.ski.0") == ["old ski"]
    assert taken(channel, "persist.declared.0") == ["an opening"]
    assert empty_former_queues(settings(rabbit, AFTER), SECRETS, 20) == {}


def test_a_queue_that_a_mapping_still_reads_is_left_to_it(rabbit: Rabbit, channel: BlockingChannel) -> None:
    put(channel, "persist.chat.3", "chat", "c-1")
    channel.basic_qos(prefetch_count=1)
    channel.basic_consume("persist.chat.3", lambda *_: None)
    put(channel, "persist.chat.3", "chat", "c-2")

    assert empty_former_queues(settings(rabbit, AFTER), SECRETS, 20) == {}


def test_what_can_never_be_stored_moves_too_and_what_finds_no_queue_stays(
    rabbit: Rabbit, channel: BlockingChannel
) -> None:
    channel.basic_publish(PERSIST_EXCHANGE, "persist.chat.2", b"not an envelope", mandatory=True)
    put(channel, "persist.0", "ski", "r-1")
    channel.queue_unbind("persist.ski.0", PERSIST_EXCHANGE, "persist.ski.0")

    moved = empty_former_queues(settings(rabbit, AFTER), SECRETS, 20)

    assert moved == {"persist.chat.2": 1}
    deadline = time.monotonic() + 20
    # A quorum queue takes a record back a moment after its reader's connection is closed.
    while channel.queue_declare("persist.0", passive=True).method.message_count == 0:
        assert time.monotonic() < deadline
    assert taken(channel, "persist.0") == ["r-1"]


def test_a_run_ends_in_time_and_the_next_one_goes_on(rabbit: Rabbit, channel: BlockingChannel) -> None:
    put(channel, "persist.chat.3", "chat", "c-1")

    assert empty_former_queues(settings(rabbit, AFTER), SECRETS, 0) == {}
    assert empty_former_queues(settings(rabbit, AFTER), SECRETS, 20) == {"persist.chat.3": 1}
