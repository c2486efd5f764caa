"""declare_topology on a real broker, and its answers to CloudFormation."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pika import BlockingConnection, URLParameters
from pika.adapters.blocking_connection import BlockingChannel

from headrace.core.errors import BrokerUnavailable, SecretsUnavailable
from headrace.queues.names import LIVE_EXCHANGE, PARKED_EXCHANGE, PARKED_QUEUE, PERSIST_EXCHANGE
from headrace.queues.rabbitmq import endpoints, topology, topology_resource
from headrace.queues.rabbitmq.topology import declare
from headrace.runtime.settings import BrokerSettings
from tests.contract.http_server import OK, HttpServer, Received
from tests.contract.rabbit import Rabbit
from tests.fakes.secrets import MemorySecrets
from tests.worlds.ports import free_port

SECRETS = MemorySecrets({"arn": '{"username": "guest", "password": "guest"}'})


@pytest.fixture
def vhost(rabbit: Rabbit) -> str:
    """The URL of an empty virtual host."""
    return rabbit.virtual_host()


@pytest.fixture
def channel(vhost: str) -> Iterator[BlockingChannel]:
    connection = BlockingConnection(URLParameters(vhost))
    yield connection.channel()
    connection.close()


def settings(url: str, queues: int = 2) -> BrokerSettings:
    return BrokerSettings(broker_endpoints=((url,),), broker_secret_arn="arn", persist_queues={"chat": queues})


def test_everything_is_declared_and_declaring_again_changes_nothing(vhost: str, channel: BlockingChannel) -> None:
    first = declare(settings(vhost), SECRETS, seconds=20)
    channel.basic_publish(PERSIST_EXCHANGE, "persist.chat.1", b"kept")

    again = declare(settings(vhost), SECRETS)

    assert first == again
    assert first.differs == []
    assert first.declared == [
        "exchange headrace.parked",
        "queue parked",
        "exchange headrace.events",
        "queue persist.chat.0",
        "queue persist.chat.1",
        "exchange headrace.live",
        "queue live.0",
        "queue live.1",
        "queue live.signals",
    ]
    assert channel.basic_get("persist.chat.1")[2] == b"kept"


def test_missing_queues_and_bindings_are_declared_again(vhost: str, channel: BlockingChannel) -> None:
    declare(settings(vhost), SECRETS)
    channel.queue_delete("persist.chat.0")
    channel.queue_unbind("persist.chat.1", PERSIST_EXCHANGE, "persist.chat.1")

    declare(settings(vhost), SECRETS)

    channel.confirm_delivery()
    for queue in ("persist.chat.0", "persist.chat.1"):
        channel.basic_publish(PERSIST_EXCHANGE, queue, b"routed", mandatory=True)


def test_a_conflicting_declaration_is_reported_and_the_others_succeed(vhost: str, channel: BlockingChannel) -> None:
    channel.queue_declare("persist.chat.0", durable=True)
    channel.exchange_declare(PARKED_EXCHANGE, "topic", durable=True)

    report = declare(settings(vhost), SECRETS)

    assert [difference.split(" exists")[0] for difference in report.differs] == [
        "exchange headrace.parked",
        "queue persist.chat.0",
    ]
    assert "queue persist.chat.1" in report.declared
    channel.confirm_delivery()
    channel.basic_publish(PERSIST_EXCHANGE, "persist.chat.0", b"routed", mandatory=True)


def test_a_live_queue_that_cannot_be_used_is_reported_and_fails_no_deployment(
    vhost: str, channel: BlockingChannel
) -> None:
    """As while the node of a live queue restarts. Another connection's exclusive queue refuses the same commands."""
    channel.queue_declare("live.0", exclusive=True)

    report = declare(settings(vhost), SECRETS)

    assert report.missing == []
    assert [difference.split(" cannot")[0] for difference in report.differs][-1] == "queue live.0"
    assert "queue live.1" in report.declared


def test_a_persist_queue_that_cannot_be_used_is_missing(vhost: str, channel: BlockingChannel) -> None:
    channel.queue_declare("persist.chat.0", exclusive=True)

    assert declare(settings(vhost), SECRETS).missing[0].startswith("queue persist.chat.0 cannot be used")


def test_queues_that_no_mapping_reads_are_named(vhost: str, channel: BlockingChannel) -> None:
    first = declare(settings(vhost), SECRETS)
    channel.basic_consume("persist.chat.1", lambda *_: None)
    channel.basic_consume("live.0", lambda *_: None)

    assert first.unread == ["persist.chat.0", "persist.chat.1", "live.0", "live.1", "live.signals"]
    assert declare(settings(vhost), SECRETS).unread == ["persist.chat.0", "live.1", "live.signals"]


def test_a_queue_without_at_least_once_dead_lettering_is_reported(vhost: str, channel: BlockingChannel) -> None:
    arguments: dict[str, Any] = {
        "x-queue-type": "quorum",
        "x-delivery-limit": 20,
        "x-overflow": "reject-publish",
        "x-dead-letter-exchange": PARKED_EXCHANGE,
    }
    channel.queue_declare("persist.chat.0", durable=True, arguments=arguments)

    report = declare(settings(vhost), SECRETS)

    assert report.missing == []
    assert "x-dead-letter-strategy" in report.differs[0]


def test_live_copies_expire_and_a_full_queue_drops_the_oldest(
    vhost: str, channel: BlockingChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topology, "LIVE_SECONDS", 1)
    monkeypatch.setattr(topology, "LIVE_LENGTH", 2)
    declare(settings(vhost), SECRETS)
    channel.confirm_delivery()

    for body in (b"1", b"2", b"3"):
        channel.basic_publish(LIVE_EXCHANGE, "live.0", body, mandatory=True)

    first = channel.basic_get("live.0")
    assert first[2] == b"2"
    channel.basic_nack(first[0].delivery_tag)
    deadline = time.monotonic() + 30
    while channel.queue_declare("live.0", passive=True).method.message_count and time.monotonic() < deadline:
        time.sleep(0.05)
    assert channel.basic_get("live.0")[0] is None
    assert channel.basic_get(PARKED_QUEUE)[0] is None


def test_an_unreadable_secret_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a new stack the VPC endpoint of Secrets Manager may not work yet."""

    class Late(MemorySecrets):
        def text(self, arn: str, *, fresh: bool = False) -> str:
            if not late:
                late.append(arn)
                raise SecretsUnavailable("the secret could not be read")
            return super().text(arn, fresh=fresh)

    late: list[str] = []
    monkeypatch.setattr(endpoints, "RETRY_SECONDS", 0.0)
    secrets = Late(SECRETS.values)

    with pytest.raises(BrokerUnavailable):
        declare(settings(f"amqp://127.0.0.1:{free_port()}"), secrets, seconds=0.2)

    assert secrets.reads == 1


@pytest.fixture
def cloudformation() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A ResponseURL, and the bodies that were put there."""
    answers: list[dict[str, Any]] = []

    def take(request: Received) -> bytes:
        assert (request.method, request.headers["content-type"]) == ("PUT", "")
        answers.append(json.loads(request.body))
        return OK

    server = HttpServer()
    server.answer = take
    yield f"http://127.0.0.1:{server.port}/answer", answers
    server.close()


def request(kind: str, url: str, **more: Any) -> dict[str, Any]:
    return {
        "RequestType": kind,
        "ResponseURL": url,
        "StackId": "stack",
        "RequestId": "request",
        "LogicalResourceId": "Topology",
        **more,
    }


@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_cloudformation_gets_the_declared_topology(cloudformation: tuple[str, list[dict[str, Any]]], kind: str) -> None:
    url, answers = cloudformation

    topology_resource.answer(request(kind, url), lambda: {"declared": "all"})

    assert answers == [
        {
            "Status": "SUCCESS",
            "Reason": "done",
            "PhysicalResourceId": "headrace-topology",
            "StackId": "stack",
            "RequestId": "request",
            "LogicalResourceId": "Topology",
            "Data": {"declared": "all"},
        }
    ]


def test_a_long_reason_is_cut_to_the_limit_of_cloudformation(cloudformation: tuple[str, list[dict[str, Any]]]) -> None:
    def fail() -> dict[str, str]:
        raise BrokerUnavailable("世" * 5000)

    url, answers = cloudformation
    topology_resource.answer(request("Create", url), lambda: {"declared": "x" * 5000, "differs": "世" * 5000})
    topology_resource.answer(request("Create", url), fail)

    assert [len(json.dumps(answer, ensure_ascii=False).encode()) < 4096 for answer in answers] == [True, True]
    assert [answer["Status"] for answer in answers] == ["SUCCESS", "FAILED"]


def test_delete_always_succeeds_and_deletes_nothing(cloudformation: tuple[str, list[dict[str, Any]]]) -> None:
    """Fault 15: no queue with data is created or deleted as a side effect."""

    def touch() -> dict[str, str]:
        raise AssertionError

    url, answers = cloudformation
    topology_resource.answer(request("Delete", url, PhysicalResourceId="old"), touch)

    assert (answers[0]["Status"], answers[0]["PhysicalResourceId"]) == ("SUCCESS", "old")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://example.com/", "ftp://127.0.0.1/"])
def test_answers_are_sent_only_to_https_or_loopback(url: str) -> None:
    with pytest.raises(ValueError, match="ResponseURL"):
        topology_resource.answer(request("Delete", url), dict)
