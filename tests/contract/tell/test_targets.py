"""P14: the targets that others are told by, on the emulator of the local stage: queues, FIFO queues, and buses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.features.tell.targets import AT_ONCE, Announcement, Target, target_of
from headrace.runtime.aws import AwsClient, client
from tests.contract.emulators import sdk
from tests.fakes.tell import MemoryTarget
from tests.worlds.ports import free_port

Told = Callable[[], list[dict[str, Any]]]


def patient(service: str) -> AwsClient:
    return client(service, timeout=30)


def announcement(number: int, text: str = "hello", group: str = "chat#kitchen") -> Announcement:
    body = {"id": f"e{number}", "type": "message.stored", "data": {"message": text}}
    return Announcement(f"e{number}", "message.stored", group, json.dumps(body))


def received(sqs: Any, url: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    while got := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]):
        if "Messages" not in got:
            return messages
        messages += got["Messages"]
        for each in got["Messages"]:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
    return messages


def arn_of(sqs: Any, url: str) -> str:
    return str(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"])


@pytest.fixture
def queue(ministack: str) -> Iterator[tuple[Any, str]]:
    sqs = sdk("sqs")
    url = sqs.create_queue(QueueName="told")["QueueUrl"]
    yield sqs, url
    sqs.delete_queue(QueueUrl=url)


@pytest.fixture
def fifo(ministack: str) -> Iterator[tuple[Any, str]]:
    sqs = sdk("sqs")
    url = sqs.create_queue(QueueName="told.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    yield sqs, url
    sqs.delete_queue(QueueUrl=url)


@pytest.fixture
def bus(queue: tuple[Any, str]) -> Iterator[str]:
    """A bus whose events go to the queue."""
    (sqs, url), events = queue, sdk("events")
    arn = str(events.create_event_bus(Name="told")["EventBusArn"])
    events.put_rule(Name="all", EventBusName="told", EventPattern='{"source": ["headrace"]}')
    events.put_targets(Rule="all", EventBusName="told", Targets=[{"Id": "1", "Arn": arn_of(sqs, url)}])
    yield arn
    events.remove_targets(Rule="all", EventBusName="told", Ids=["1"])
    events.delete_rule(Name="all", EventBusName="told")
    events.delete_event_bus(Name="told")


@pytest.fixture(params=["memory", "queue", "fifo", "bus"])
def parts(request: pytest.FixtureRequest) -> tuple[Target, Told]:
    """A target, and what was told as an operator's program gets it."""
    if request.param == "memory":
        memory = MemoryTarget()
        return memory, lambda: [json.loads(each.body) for each in memory.taken]
    made = request.getfixturevalue(request.param)
    if request.param == "bus":
        sqs, url = request.getfixturevalue("queue")
        return target_of(made, patient), lambda: [json.loads(each["Body"])["detail"] for each in received(sqs, url)]
    sqs, url = made
    return target_of(arn_of(sqs, url), patient), lambda: [json.loads(each["Body"]) for each in received(sqs, url)]


def test_a_target_gets_each_of_ten_events_whole(parts: tuple[Target, Told]) -> None:
    target, told = parts
    announcements = [announcement(number, "Grüße 👋\x00") for number in range(AT_ONCE)]

    assert target(announcements) == [None] * AT_ONCE

    found = sorted(told(), key=lambda each: each["id"])
    assert found == sorted((json.loads(each.body) for each in announcements), key=lambda each: each["id"])


def test_a_message_has_its_type_as_an_attribute(queue: tuple[Any, str]) -> None:
    sqs, url = queue
    target_of(arn_of(sqs, url), patient)([announcement(1)])

    (message,) = received(sqs, url)
    assert message["MessageAttributes"]["type"]["StringValue"] == "message.stored"


def test_rules_of_a_bus_can_select_by_source_and_type(bus: str, queue: tuple[Any, str]) -> None:
    target_of(bus, patient)([announcement(1)])

    (message,) = received(*queue)
    event = json.loads(message["Body"])
    assert (event["source"], event["detail-type"]) == ("headrace", "message.stored")


def test_a_fifo_queue_drops_a_repeat_and_keeps_the_order_of_a_long_room(fifo: tuple[Any, str]) -> None:
    sqs, url = fifo
    target = target_of(arn_of(sqs, url), patient)
    room = "chat#" + "台" * 128

    for _ in range(2):
        assert target([announcement(number, group=room) for number in range(5)]) == [None] * 5

    assert [json.loads(each["Body"])["id"] for each in received(sqs, url)] == [f"e{number}" for number in range(5)]


@pytest.mark.parametrize("arn", ["arn:aws:sqs:us-east-1:123456789012:gone", "arn:aws:events:us-east-1:1:event-bus/b"])
def test_a_target_that_does_not_answer_refuses_all_with_its_reason(arn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    target = target_of(arn, lambda service: client(service, attempts=1))

    assert target([announcement(1), announcement(2)]) == ["EndpointConnectionError"] * 2


def test_a_stage_without_a_target_tells_nobody() -> None:
    assert target_of("", patient)([announcement(1)]) == [None]


def test_a_queue_that_is_gone_refuses_all_with_its_reason(ministack: str) -> None:
    target = target_of("arn:aws:sqs:us-east-1:000000000000:gone", patient)

    (reason,) = target([announcement(1)])
    assert "NonExistentQueue" in str(reason)


class Scripted:
    """A client whose calls get one answer."""

    class meta:  # noqa: N801 - as in boto3
        endpoint_url = "https://sqs.us-east-1.amazonaws.com"

    def __init__(self, **answer: Any) -> None:
        self._answer = {"ResponseMetadata": {"RequestId": "r-1"}, **answer}
        self.called: dict[str, Any] = {}

    def send_message_batch(self, **given: Any) -> dict[str, Any]:
        self.called = given
        return self._answer

    put_events = send_message_batch


def test_only_those_that_a_queue_refuses_or_forgets_are_refused() -> None:
    sqs = Scripted(Successful=[{"Id": "1"}], Failed=[{"Id": "0", "Code": "InternalError"}])
    target = target_of("arn:aws:sqs:us-east-1:123456789012:told", lambda _: sqs)

    assert target([announcement(number) for number in range(3)]) == ["InternalError", None, "NoAnswer"]
    assert sqs.called["QueueUrl"] == "https://sqs.us-east-1.amazonaws.com/123456789012/told"


def test_only_those_that_a_bus_refuses_or_forgets_are_refused() -> None:
    events = Scripted(FailedEntryCount=1, Entries=[{"ErrorCode": "InternalFailure"}, {"EventId": "1"}])
    target = target_of("arn:aws:events:us-east-1:123456789012:event-bus/b", lambda _: events)

    assert target([announcement(number) for number in range(3)]) == ["InternalFailure", None, "NoAnswer"]
