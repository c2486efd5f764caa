"""The RabbitMQ mapping while its queue is missing or its broker is unavailable."""

from __future__ import annotations

import asyncio
import logging
import uuid

import pika

from localstage.core.invoker import Invocation
from localstage.core.model import RabbitMqMapping
from localstage.triggers.rabbitmq import RabbitMqTrigger
from tests.contract.localstage.triggers.trigger_fakes import (
    BROKER_ARN,
    OK,
    Call,
    eventually,
    fake_functions,  # noqa: F401 - a fixture
    new_rabbitmq_trigger,
    publish,
    rabbitmq_queue,  # noqa: F401 - a fixture
    rabbitmq_triggers,  # noqa: F401 - a fixture
)
from tests.contract.rabbit import Rabbit


async def test_a_queue_that_is_declared_later_is_read(channel, functions, make_trigger, caplog):
    caplog.set_level(logging.INFO, "localstage.triggers")
    name = f"q-{uuid.uuid4()}"
    trigger = make_trigger(name)
    await trigger.start()
    await eventually(lambda: trigger.status().state == "waiting")
    assert trigger.status().trouble == f"queue {name} does not exist"

    channel.queue_declare(name)
    publish(channel, name, "a")

    await functions.until(lambda: functions.bodies == ["a"])
    assert trigger.status().trouble is None
    assert [record.getMessage() for record in caplog.records] == [
        f"Mapping: queue {name} does not exist; trying again",
        f"Mapping reads queue {name} again",
    ]


async def test_a_queue_that_is_deleted_and_declared_again_is_read_again(channel, queue, functions, make_trigger):
    trigger = make_trigger(queue)
    await trigger.start()
    await eventually(lambda: trigger.status().state == "running")

    channel.queue_delete(queue)
    await eventually(lambda: trigger.status().state == "waiting")
    channel.queue_declare(queue)
    publish(channel, queue, "a")

    await functions.until(lambda: functions.bodies == ["a"])


async def test_a_wrong_password_is_reported_without_its_text(rabbitmq, queue, functions, caplog):
    mapping = RabbitMqMapping("Mapping", "Persist", "Broker", "Keys", queue, "/", 1, 0)
    trigger = RabbitMqTrigger(
        mapping, functions, broker_url=rabbitmq, username="guest", password="not-that", broker_arn=BROKER_ARN
    )
    await trigger.start()
    await eventually(lambda: trigger.status().state == "waiting")
    await trigger.stop()

    assert "refused" in caplog.text
    assert "not-that" not in caplog.text


async def test_no_record_is_lost_when_the_broker_is_killed_and_restarted(own_rabbitmq: Rabbit, functions):
    def declare_and_publish(*bodies: str) -> None:
        with pika.BlockingConnection(pika.URLParameters(own_rabbitmq.url)) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            channel.queue_declare("kept", durable=True)
            publish(channel, "kept", *bodies)

    go = asyncio.Event()

    async def answer(_: Call) -> Invocation:
        await go.wait()
        return OK

    functions.answer = answer
    declare_and_publish("a", "b")
    await asyncio.to_thread(own_rabbitmq.sync)
    trigger = new_rabbitmq_trigger(own_rabbitmq.url, functions, "kept", batch_size=2, window=1)
    await trigger.start()
    await functions.until(lambda: len(functions.calls) == 1)

    own_rabbitmq.kill()
    go.set()
    await eventually(lambda: trigger.status().state == "waiting")
    await asyncio.to_thread(own_rabbitmq.start)

    await functions.until(lambda: len(functions.calls) == 2)
    declare_and_publish("c")
    await functions.until(lambda: "c" in functions.bodies)
    await trigger.stop()
    assert functions.bodies == ["a", "b", "a", "b", "c"]
