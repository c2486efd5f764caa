"""All triggers of a model, against a real broker and an emulator of SQS."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from localstage.core.model import Broker, Queue, RabbitMqMapping, Schedule, Secret, SqsMapping, StageModel
from localstage.triggers import AwsAccess, Triggers
from localstage.triggers.sqs_queue import make_client
from tests.contract.localstage.triggers.trigger_fakes import FakeFunctions, eventually

CREDENTIALS = ("local", "local", None)


@pytest.fixture
def persist_queue(channel: BlockingChannel) -> str:
    name = f"persist-{uuid.uuid4()}"
    channel.queue_declare(name)
    return name


@pytest.fixture
def retry_queue(moto_url: str) -> Iterator[tuple[Any, str]]:
    client = make_client(moto_url, "us-east-1", CREDENTIALS)
    yield client, client.create_queue(QueueName=f"retry-{uuid.uuid4()}")["QueueUrl"]
    client.close()


@pytest.fixture
def model(persist_queue: str) -> StageModel:
    return StageModel(
        brokers={"Broker": Broker("Broker", "arn:aws:mq:us-east-1:1:broker:b:b-1", "administrator", "unused")},
        secrets={"Keys": Secret("Keys", "keys", "arn", '{"username": "guest", "password": "guest"}')},
        queues={"RetryQueue": Queue("RetryQueue", "retry", {}, None, None)},
        rabbitmq_mappings={"Main": RabbitMqMapping("Main", "Persist", "Broker", "Keys", persist_queue, "/", 10, 0)},
        sqs_mappings={"Retry": SqsMapping("Retry", "Persist", "RetryQueue", 10, None, True)},
        schedules={"Heal": Schedule("Heal", "Declare", "rate(1 hour)")},
    )


@pytest.fixture
async def functions() -> FakeFunctions:
    return FakeFunctions()


@pytest.fixture
async def triggers(
    model: StageModel,
    functions: FakeFunctions,
    rabbitmq: str,
    moto_url: str,
    retry_queue: tuple[Any, str],
    tmp_path: Path,
) -> AsyncIterator[Triggers]:
    triggers = Triggers(
        model,
        functions,
        broker_urls={"Broker": rabbitmq},
        queue_urls={"RetryQueue": retry_queue[1]},
        access=AwsAccess(sqs_endpoint=moto_url, credentials=CREDENTIALS),
        folder=tmp_path,
    )
    yield triggers
    await triggers.stop()


async def test_every_source_of_the_model_reaches_its_function(triggers, functions, channel, persist_queue, retry_queue):
    channel.basic_publish("", persist_queue, b"main", pika.BasicProperties())
    client, url = retry_queue
    client.send_message(QueueUrl=url, MessageBody="retry")

    await triggers.start()
    await functions.until(lambda: sorted(functions.bodies) == ["main", "retry"])

    await eventually(lambda: sum(status.records for status in triggers.status()) == 2)
    assert [(status.id, status.kind, status.state) for status in triggers.status()] == [
        ("Heal", "schedule", "running"),
        ("Main", "rabbitmq", "running"),
        ("Retry", "sqs", "running"),
    ]
