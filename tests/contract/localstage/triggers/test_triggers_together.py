"""All triggers of a model, against a real broker and an emulator of SQS."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from localstage.core.errors import TemplateError
from localstage.core.model import Broker, Queue, RabbitMqMapping, Schedule, Secret, SqsMapping, StageModel
from localstage.triggers import Triggers
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
        sqs_mappings={"Retry": SqsMapping("Retry", "Persist", "RetryQueue", 10, 0, None, True)},
        schedules={"Heal": Schedule("Heal", "Declare", "rate(1 hour)")},
    )


@pytest.fixture
async def functions() -> FakeFunctions:
    return FakeFunctions()


@pytest.fixture
async def triggers(
    model: StageModel, functions: FakeFunctions, rabbitmq: str, moto_url: str, retry_queue: tuple[Any, str]
) -> AsyncIterator[Triggers]:
    triggers = Triggers(
        model,
        functions,
        broker_urls={"Broker": rabbitmq},
        sqs_endpoint=moto_url,
        queue_urls={"RetryQueue": retry_queue[1]},
        sqs_credentials=CREDENTIALS,
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


async def test_a_changed_model_restarts_only_changed_triggers(triggers, functions, model, channel, persist_queue):
    await triggers.start()
    channel.basic_publish("", persist_queue, b"before")
    await functions.until(lambda: functions.bodies == ["before"])
    await eventually(lambda: triggers.status()[1].records == 1)
    channel.queue_declare(f"{persist_queue}.new")

    added = RabbitMqMapping("New", "Persist", "Broker", "Keys", f"{persist_queue}.new", "/", 10, 0)
    await triggers.replace(
        replace(model, rabbitmq_mappings={**model.rabbitmq_mappings, "New": added}, sqs_mappings={}, schedules={})
    )

    assert [(status.id, status.records) for status in triggers.status()] == [("Main", 1), ("New", 0)]
    channel.basic_publish("", f"{persist_queue}.new", b"after")
    await functions.until(lambda: functions.bodies == ["before", "after"])


async def test_a_model_that_cannot_run_changes_nothing(triggers, model):
    await triggers.start()
    bad = replace(model, schedules={"Heal": Schedule("Heal", "Declare", "rate(never)")})

    with pytest.raises(TemplateError, match="Heal"):
        await triggers.replace(bad)

    assert [status.id for status in triggers.status()] == ["Heal", "Main", "Retry"]


async def test_a_mapping_on_an_unknown_broker_names_both(triggers, model):
    lost = replace(model.rabbitmq_mappings["Main"], broker_id="OtherBroker")

    with pytest.raises(TemplateError, match="Main: OtherBroker is not"):
        await triggers.replace(replace(model, rabbitmq_mappings={"Main": lost}))


async def test_a_mapping_whose_secret_holds_no_login_names_both(triggers, model):
    secrets = {"Keys": Secret("Keys", "keys", "arn", "s3cret")}

    with pytest.raises(TemplateError, match="Main: Keys must hold") as caught:
        await triggers.replace(replace(model, secrets=secrets))

    assert "s3cret" not in str(caught.value)


async def test_stopped_triggers_can_be_started_again(triggers, functions, channel, persist_queue):
    await triggers.start()
    await triggers.stop()
    assert triggers.status() == []

    channel.basic_publish("", persist_queue, b"a")
    await triggers.start()

    await functions.until(lambda: functions.bodies == ["a"])
