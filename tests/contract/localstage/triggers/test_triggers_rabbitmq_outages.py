"""The RabbitMQ mapping while its queue is missing or its broker is unavailable."""

from __future__ import annotations

import logging
import uuid

from localstage.core.model import RabbitMqMapping
from localstage.triggers.rabbitmq import RabbitMqTrigger
from tests.contract.localstage.triggers.trigger_fakes import (
    BROKER_ARN,
    eventually,
    fake_functions,  # noqa: F401 - a fixture
    publish,
    rabbitmq_queue,  # noqa: F401 - a fixture
    rabbitmq_triggers,  # noqa: F401 - a fixture
)


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
        f"Mapping reads {name} again",
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
