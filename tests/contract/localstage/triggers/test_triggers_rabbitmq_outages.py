"""The RabbitMQ mapping while its queue is missing or its broker is unavailable."""

from __future__ import annotations

import logging
import uuid

from tests.contract.localstage.triggers.trigger_fakes import (
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
