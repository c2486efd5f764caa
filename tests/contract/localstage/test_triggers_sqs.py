"""The SQS mapping against an emulator of SQS."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools.utilities.data_classes import SQSEvent
from local_services import MotoServer
from trigger_fakes import FAILED, OK, Call, FakeFunctions, answering, eventually

from localstage.errors import StageError
from localstage.invoking import Invocation
from localstage.model import SqsMapping
from localstage.triggers import queue_arn
from localstage.triggers.sqs import SqsTrigger
from localstage.triggers.sqs_queue import make_client

CREDENTIALS = ("local", "local")
MakeTrigger = Callable[..., SqsTrigger]


@pytest.fixture(scope="module")
def sqs(sqs_endpoint: str) -> Iterator[Any]:
    client = make_client(sqs_endpoint, "us-east-1", CREDENTIALS)
    yield client
    client.close()


@pytest.fixture
def queue(sqs: Any) -> str:
    return new_queue(sqs)


def new_queue(sqs: Any, **attributes: str) -> str:
    return sqs.create_queue(QueueName=f"q-{uuid.uuid4()}", Attributes=attributes)["QueueUrl"]


def left(sqs: Any, queue: str) -> tuple[int, int]:
    """Return how many messages are visible and how many in flight."""
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=list(names))["Attributes"]
    return int(attributes[names[0]]), int(attributes[names[1]])


def send(sqs: Any, queue: str, *bodies: str) -> None:
    for begin in range(0, len(bodies), 10):
        entries = [{"Id": str(i), "MessageBody": body} for i, body in enumerate(bodies[begin : begin + 10])]
        sqs.send_message_batch(QueueUrl=queue, Entries=entries)


@pytest.fixture
async def functions() -> FakeFunctions:
    return FakeFunctions()


def new_trigger(
    endpoint: str,
    functions: FakeFunctions,
    queue: str,
    *,
    batch_size: int = 10,
    window: int = 0,
    maximum_concurrency: int | None = None,
    partial_response: bool = False,
    enabled: bool = True,
) -> SqsTrigger:
    mapping = SqsMapping(
        "Mapping", "Persist", "RetryQueue", batch_size, window, maximum_concurrency, partial_response, enabled
    )
    factory = partial(make_client, endpoint, "us-east-1", CREDENTIALS)
    arn = queue_arn(queue, "us-east-1")
    return SqsTrigger(mapping, functions, queue_url=queue, queue_arn=arn, client_factory=factory)


@pytest.fixture
async def make_trigger(sqs_endpoint: str, functions: FakeFunctions) -> AsyncIterator[MakeTrigger]:
    made: list[SqsTrigger] = []

    def make(*args: object, **options: object) -> SqsTrigger:
        made.append(new_trigger(sqs_endpoint, functions, *args, **options))
        return made[-1]

    yield make
    for trigger in made:
        await trigger.stop(grace=0)


async def test_a_message_reaches_the_function_in_the_shape_that_lambda_gives_it(sqs, queue, functions, make_trigger):
    sent = sqs.send_message(
        QueueUrl=queue,
        MessageBody='{"v": 1}',
        MessageAttributes={
            "kind": {"DataType": "String", "StringValue": "chat"},
            "raw": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
        },
    )

    await make_trigger(queue).start()
    await functions.until(lambda: len(functions.calls) == 1)

    call = functions.calls[0]
    assert (call.function_id, call.lane) == ("Persist", None)
    (record,) = SQSEvent(call.event).records
    assert (record.message_id, record.json_body) == (sent["MessageId"], {"v": 1})
    assert record.md5_of_body == sent["MD5OfMessageBody"]
    assert record.event_source == "aws:sqs"
    assert record.event_source_arn.startswith("arn:aws:sqs:us-east-1:")
    assert record.event_source_arn.endswith(queue.rsplit("/", 1)[1])
    assert record.aws_region == "us-east-1"
    assert record.receipt_handle
    assert record.attributes.approximate_receive_count == "1"
    assert record.attributes.sent_timestamp.isdigit()
    assert call.records[0]["messageAttributes"] == {
        "kind": {"stringValue": "chat", "stringListValues": [], "binaryListValues": [], "dataType": "String"},
        "raw": {"binaryValue": "AP8=", "stringListValues": [], "binaryListValues": [], "dataType": "Binary"},
    }


async def test_what_succeeded_is_deleted(sqs, queue, functions, make_trigger):
    sent = [str(number) for number in range(25)]
    send(sqs, queue, *sent)
    trigger = make_trigger(queue)

    await trigger.start()
    await functions.until(lambda: len(functions.bodies) == 25)
    await trigger.stop()

    assert sorted(functions.bodies) == sorted(sent)
    assert max(len(call.records) for call in functions.calls) <= 10
    assert left(sqs, queue) == (0, 0)
    assert trigger.status().records == 25


async def test_a_window_gathers_more_than_one_receive_into_a_batch(sqs, queue, functions, make_trigger):
    sent = [str(number) for number in range(25)]
    send(sqs, queue, *sent)

    await make_trigger(queue, batch_size=25, window=300).start()
    await functions.until(lambda: len(functions.calls) == 1)

    assert sorted(functions.bodies) == sorted(sent)


async def test_a_window_that_ends_closes_the_batch(sqs, queue, functions, make_trigger):
    send(sqs, queue, "a", "b")

    await make_trigger(queue, batch_size=100, window=1).start()
    await functions.until(lambda: len(functions.calls) == 1)

    assert sorted(functions.bodies) == ["a", "b"]


async def test_after_an_error_all_messages_return_by_their_visibility_timeout(sqs, functions, make_trigger):
    queue = new_queue(sqs, VisibilityTimeout="1")
    functions.answer = answering(FAILED)
    send(sqs, queue, "a", "b")
    trigger = make_trigger(queue)

    await trigger.start()
    await functions.until(lambda: len(functions.bodies) >= 4)
    await trigger.stop()

    counts = [record["attributes"]["ApproximateReceiveCount"] for call in functions.calls for record in call.records]
    assert sorted(counts) == ["1", "1", "2", "2"]
    assert left(sqs, queue) == (0, 0)


def failing(*failed: str) -> Callable[[Call], Any]:
    async def answer(call: Call) -> Invocation:
        ids = [record["messageId"] for record in call.records if record["body"] in failed]
        return Invocation(json.dumps({"batchItemFailures": [{"itemIdentifier": id} for id in ids]}).encode())

    return answer


async def test_a_partial_response_keeps_only_the_failed_messages(sqs, queue, functions, make_trigger):
    functions.answer = failing("b")
    send(sqs, queue, "a", "b", "c")
    trigger = make_trigger(queue, partial_response=True)

    await trigger.start()
    await functions.until(lambda: len(functions.bodies) == 3)
    await trigger.stop()

    assert left(sqs, queue) == (0, 1)


async def test_a_partial_response_means_nothing_where_it_was_not_asked_for(sqs, queue, functions, make_trigger):
    functions.answer = failing("b")
    send(sqs, queue, "a", "b", "c")
    trigger = make_trigger(queue, partial_response=False)

    await trigger.start()
    await functions.until(lambda: len(functions.bodies) == 3)
    await trigger.stop()

    assert left(sqs, queue) == (0, 0)


async def test_a_message_that_fails_too_often_is_moved_to_the_dead_letter_queue(sqs, functions, make_trigger):
    dead = new_queue(sqs)
    redrive = json.dumps({"deadLetterTargetArn": queue_arn_of(sqs, dead), "maxReceiveCount": 2})
    queue = new_queue(sqs, VisibilityTimeout="1", RedrivePolicy=redrive)
    functions.answer = failing("bad")
    send(sqs, queue, "good", "bad")

    await make_trigger(queue, partial_response=True).start()
    await eventually(lambda: left(sqs, dead) == (1, 0))

    assert functions.bodies.count("bad") == 2
    assert functions.bodies.count("good") == 1


def queue_arn_of(sqs: Any, queue: str) -> str:
    return sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


async def test_the_arn_in_the_event_is_the_queues_own(sqs, queue, functions):
    assert queue_arn(queue, "us-east-1") == queue_arn_of(sqs, queue)


async def test_the_maximum_concurrency_bounds_the_invocations(sqs, queue, functions, make_trigger):
    two = asyncio.Barrier(2)

    async def answer(_: Call) -> Invocation:
        await two.wait()
        return OK

    functions.answer = answer
    send(sqs, queue, *"abcdef")

    await make_trigger(queue, batch_size=1, maximum_concurrency=2).start()
    await functions.until(lambda: len(functions.calls) == 6)

    assert functions.most["all"] == 2


async def test_a_function_that_cannot_be_started_leaves_the_messages_and_pauses(sqs, functions, make_trigger):
    queue = new_queue(sqs, VisibilityTimeout="1")
    answers = [StageError("no environment")]

    async def answer(_: Call) -> Invocation:
        if answers:
            raise answers.pop()
        return OK

    functions.answer = answer
    send(sqs, queue, "a")
    trigger = make_trigger(queue)

    await trigger.start()
    await functions.until(lambda: len(functions.calls) == 2)
    await trigger.stop()

    assert left(sqs, queue) == (0, 0)


async def test_stopping_ends_a_long_poll_at_once_and_what_it_still_receives_is_released(
    sqs, queue, functions, make_trigger
):
    idle = make_trigger(queue)
    await idle.start()
    await asyncio.sleep(0.5)

    async with asyncio.timeout(5):
        await idle.stop()
    send(sqs, queue, "a")
    await make_trigger(queue).start()

    # The poll that was left behind may take the message first; it comes back long before the 30 s of its visibility.
    await functions.until(lambda: functions.bodies == ["a"])


async def test_stopping_releases_what_waits_for_its_window(sqs, queue, functions, make_trigger):
    send(sqs, queue, "a")
    trigger = make_trigger(queue, batch_size=100, window=300)
    await trigger.start()
    await eventually(lambda: left(sqs, queue) == (0, 1))
    await asyncio.sleep(0.2)

    await trigger.stop()

    assert functions.calls == []
    await eventually(lambda: left(sqs, queue) == (1, 0))


async def test_stopping_waits_for_the_batch_that_runs(sqs, queue, functions, make_trigger):
    go = asyncio.Event()

    async def answer(_: Call) -> Invocation:
        await go.wait()
        return OK

    functions.answer = answer
    send(sqs, queue, "a")
    trigger = make_trigger(queue)
    await trigger.start()
    await functions.until(lambda: len(functions.calls) == 1)

    stopping = asyncio.create_task(trigger.stop())
    await asyncio.sleep(0)
    go.set()
    await stopping

    assert left(sqs, queue) == (0, 0)


async def test_a_disabled_mapping_reads_nothing(sqs, queue, functions, make_trigger):
    send(sqs, queue, "a")
    trigger = make_trigger(queue, enabled=False)

    await trigger.start()
    await trigger.stop()

    assert left(sqs, queue) == (1, 0)


async def test_an_emulator_that_comes_later_is_read_and_its_absence_said(tmp_path: Path, functions, caplog):
    caplog.set_level(logging.INFO, "localstage.triggers")
    server = MotoServer(tmp_path)
    url = f"{server.url}/123456789012/late"
    trigger = new_trigger(server.url, functions, url)
    await trigger.start()
    await eventually(lambda: trigger.status().state == "waiting")
    try:
        await asyncio.to_thread(server.start)
        client = make_client(server.url, "us-east-1", CREDENTIALS)
        client.create_queue(QueueName="late")
        send(client, url, "a")
        client.close()

        await functions.until(lambda: functions.bodies == ["a"])
        assert trigger.status().state == "running"
    finally:
        await trigger.stop()
        await asyncio.to_thread(server.close)

    messages = [record.getMessage() for record in caplog.records]
    assert messages[0] == "Mapping: SQS is not reachable (EndpointConnectionError); trying again"
    assert messages[-1] == "Mapping reads queue RetryQueue again"
