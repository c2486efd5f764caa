"""One suite for every publisher, and the real one's connection to its broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Protocol

import pytest

from headrace.core.errors import ConnectionLost, PublishReturned
from headrace.queues.names import persist_queues
from headrace.queues.ports import Publisher
from tests.contract.rabbit import GUEST, QUEUES, Rabbit, drain, kinds, outgoing, publisher_to
from tests.fakes.queues import MemoryPublisher
from tests.fakes.secrets import MemorySecrets
from tests.worlds.ports import free_port

WRONG = json.dumps({"username": "guest", "password": "wrong"})


class Published(Protocol):
    def __call__(self) -> list[bytes]: ...


@pytest.fixture(params=["memory", "rabbitmq"])
def parts(request: pytest.FixtureRequest) -> Iterator[tuple[Publisher, Published]]:
    if request.param == "memory":
        memory = MemoryPublisher(persist_queues(QUEUES))
        yield memory, memory.bodies
        return
    url = request.getfixturevalue("broker").url
    drain(url)
    publisher = publisher_to(url)
    yield publisher, lambda: drain(url)
    publisher.close()


def test_a_confirmed_message_is_in_its_queue(parts: tuple[Publisher, Published]) -> None:
    publisher, kept = parts

    assert publisher.publish([outgoing("1"), outgoing("2", queue=3)]) == [None, None]

    assert kept() == [b"1", b"2"]


def test_an_unroutable_message_is_returned_and_the_others_are_confirmed(parts: tuple[Publisher, Published]) -> None:
    """Fault 7: a confirm without mandatory."""
    publisher, kept = parts

    outcomes = publisher.publish([outgoing("1"), outgoing("nowhere", queue=99), outgoing("3")])

    assert kinds(outcomes) == [type(None), PublishReturned, type(None)]
    assert kept() == [b"1", b"3"]


def test_a_thousand_messages_are_all_confirmed(parts: tuple[Publisher, Published]) -> None:
    publisher, kept = parts

    assert not any(publisher.publish([outgoing(str(number), number % QUEUES["chat"]) for number in range(1000)]))

    assert len(kept()) == 1000


def test_endpoints_are_tried_in_turn(broker: Rabbit) -> None:
    publisher = publisher_to(f"amqp://127.0.0.1:{free_port()}", broker.url)

    assert publisher.publish([outgoing()]) == [None]

    publisher.close()


def test_a_changed_password_is_read_again_once(broker: Rabbit) -> None:
    secrets = MemorySecrets({"arn": WRONG})
    secrets.text("arn")
    secrets.values["arn"] = GUEST
    publisher = publisher_to(broker.url, secrets=secrets)

    assert publisher.publish([outgoing()]) == [None]

    assert secrets.reads == 2
    publisher.close()


@pytest.mark.parametrize("values", [{}, {"arn": WRONG}, {"arn": "not json"}])
def test_refused_credentials_are_a_lost_connection(broker: Rabbit, values: dict[str, str]) -> None:
    publisher = publisher_to(broker.url, secrets=MemorySecrets(values))

    outcomes = publisher.publish([outgoing()])

    assert kinds(outcomes) == [ConnectionLost]
    assert "wrong" not in str(outcomes)


def test_a_broker_without_tls_is_a_lost_connection(broker: Rabbit) -> None:
    publisher = publisher_to(f"amqps://127.0.0.1:{broker.port}")

    assert kinds(publisher.publish([outgoing()])) == [ConnectionLost]
