"""Shared by the triggers' tests: functions with prepared results, queues, and triggers that read them."""

from __future__ import annotations

import asyncio
import json
import uuid
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from localstage.core.invoker import Invocation
from localstage.core.model import RabbitMqMapping, SqsMapping
from localstage.triggers.consumer import Verb
from localstage.triggers.rabbitmq import RabbitMqTrigger
from localstage.triggers.sqs import SqsTrigger
from localstage.triggers.sqs_queue import make_client, queue_arn

BROKER_ARN = "arn:aws:mq:us-east-1:123456789012:broker:local:b-1"
CREDENTIALS = ("local", "local", None)
OK = Invocation(b"null")
FAILED = Invocation(b'{"errorMessage": "no", "errorType": "ValueError"}', error="Unhandled")


@dataclass
class Call:
    function_id: str
    event: dict[str, Any]
    size: int
    dedicated_to: str | None

    @property
    def records(self) -> list[dict[str, Any]]:
        if "Records" in self.event:
            return self.event["Records"]
        return [record for records in self.event["rmqMessagesByQueue"].values() for record in records]

    @property
    def bodies(self) -> list[str]:
        if "Records" in self.event:
            return [record["body"] for record in self.records]
        return [b64decode(record["data"]).decode() for record in self.records]


Answer = Callable[[Call], Awaitable[Invocation]]


class FakeFunctions:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.answer: Answer = self._succeed
        self.running: Counter[str | None] = Counter()
        self.most: Counter[str | None] = Counter()
        self._changed = asyncio.Condition()

    async def _succeed(self, _: Call) -> Invocation:
        return OK

    async def invoke(
        self, function_id: str, event: bytes, *, dedicated_to: str | None = None, trace: str = ""
    ) -> Invocation:
        call = Call(function_id, json.loads(event), len(event), dedicated_to)
        self.calls.append(call)
        self.running[dedicated_to] += 1
        self.most[dedicated_to] = max(self.most[dedicated_to], self.running[dedicated_to])
        self.most["all"] = max(self.most["all"], sum(self.running.values()))
        async with self._changed:
            self._changed.notify_all()
        try:
            return await self.answer(call)
        finally:
            self.running[dedicated_to] -= 1

    @property
    def bodies(self) -> list[str]:
        return [body for call in self.calls for body in call.bodies]

    async def until(self, enough: Callable[[], bool]) -> None:
        """Wait for enough invocations; fails after 20 s."""
        async with asyncio.timeout(20), self._changed:
            await self._changed.wait_for(enough)


def answering(*answers: Invocation) -> Answer:
    """Return these answers one after the other, and success after them."""
    left = list(answers)

    async def answer(_: Call) -> Invocation:
        return left.pop(0) if left else OK

    return answer


async def eventually(holds: Callable[[], bool]) -> None:
    """Wait until a condition outside of the event loop holds; fails after 20 s."""
    async with asyncio.timeout(20):
        while True:
            if holds():
                return
            await asyncio.sleep(0.05)


@pytest.fixture(name="functions")
async def fake_functions() -> FakeFunctions:
    return FakeFunctions()


@pytest.fixture(name="queue")
def rabbitmq_queue(channel: BlockingChannel) -> str:
    name = f"q-{uuid.uuid4()}"
    channel.queue_declare(name, durable=True, arguments={"x-queue-type": "classic"})
    return name


@pytest.fixture(name="make_trigger")
async def rabbitmq_triggers(rabbitmq: str, functions: FakeFunctions) -> AsyncIterator[Callable[..., RabbitMqTrigger]]:
    made: list[RabbitMqTrigger] = []
    login = {"broker_url": rabbitmq, "username": "guest", "password": "guest", "broker_arn": BROKER_ARN}

    def make(
        queue: str, *, id: str = "Mapping", batch_size: int = 10, window: int | None = 0, returns_by: Verb = "reject"
    ) -> RabbitMqTrigger:
        mapping = RabbitMqMapping(id, "Persist", "Broker", "Keys", queue, "/", batch_size, window)
        made.append(RabbitMqTrigger(mapping, functions, returns_by=returns_by, **login))
        return made[-1]

    yield make
    for trigger in made:
        await trigger.stop(grace=0)


def publish(channel: BlockingChannel, queue: str, *bodies: str, **properties: object) -> None:
    for body in bodies:
        channel.basic_publish("", queue, body.encode(), pika.BasicProperties(delivery_mode=2, **properties))


def ready(channel: BlockingChannel, queue: str) -> int:
    return channel.queue_declare(queue, passive=True).method.message_count


@pytest.fixture(name="sqs", scope="module")
def sqs_client(moto_url: str) -> Iterator[Any]:
    client = make_client(moto_url, "us-east-1", CREDENTIALS)
    yield client
    client.close()


@pytest.fixture(name="queue")
def sqs_queue(sqs: Any) -> str:
    return new_sqs_queue(sqs)


def new_sqs_queue(sqs: Any, **attributes: str) -> str:
    return sqs.create_queue(QueueName=f"q-{uuid.uuid4()}", Attributes=attributes)["QueueUrl"]


def left(sqs: Any, queue: str) -> tuple[int, int]:
    """Return how many messages are visible and how many in flight."""
    names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=list(names))["Attributes"]
    return int(attributes[names[0]]), int(attributes[names[1]])


def send(sqs: Any, queue: str, *bodies: str) -> None:
    entries = [{"Id": str(number), "MessageBody": body} for number, body in enumerate(bodies)]
    sqs.send_message_batch(QueueUrl=queue, Entries=entries)


@pytest.fixture(name="make_trigger")
async def sqs_triggers(moto_url: str, functions: FakeFunctions) -> AsyncIterator[Callable[..., SqsTrigger]]:
    made: list[SqsTrigger] = []
    factory = partial(make_client, moto_url, "us-east-1", CREDENTIALS)

    def make(
        queue: str, *, batch_size: int = 10, maximum_concurrency: int | None = None, partial_response: bool = False
    ) -> SqsTrigger:
        mapping = SqsMapping("Mapping", "Persist", "RetryQueue", batch_size, maximum_concurrency, partial_response)
        arn = queue_arn(queue, "us-east-1")
        made.append(SqsTrigger(mapping, functions, queue_url=queue, queue_arn=arn, client_factory=factory))
        return made[-1]

    yield make
    for trigger in made:
        await trigger.stop(grace=0)
