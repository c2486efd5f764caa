"""The RabbitMQ mapping redelivers records after a failure and after a stop."""

from __future__ import annotations

import asyncio

import pytest

from localstage.core.invoker import Invocation
from tests.contract.localstage.triggers.trigger_fakes import (
    FAILED,
    OK,
    Call,
    answering,
    eventually,
    fake_functions,  # noqa: F401 - a fixture
    publish,
    rabbitmq_queue,  # noqa: F401 - a fixture
    rabbitmq_triggers,  # noqa: F401 - a fixture
    ready,
)


async def test_a_batch_is_acknowledged_only_after_the_function_succeeded(channel, queue, functions, make_trigger):
    go = asyncio.Event()

    async def answer(_: Call) -> Invocation:
        await go.wait()
        return OK

    functions.answer = answer
    trigger = make_trigger(queue, batch_size=2)
    publish(channel, queue, "a", "b", "c")
    await trigger.start()
    await functions.until(lambda: len(functions.calls) == 1)
    await trigger.stop(grace=0)
    await eventually(lambda: ready(channel, queue) == 3)

    go.set()
    second = make_trigger(queue, batch_size=3, window=1)
    await second.start()
    await functions.until(lambda: len(functions.calls) == 2)
    await second.stop()
    assert [record["redelivered"] for record in functions.calls[1].records] == [True] * 3
    assert ready(channel, queue) == 0


@pytest.mark.parametrize("verb", ["reject", "nack"])
async def test_after_an_error_the_whole_batch_is_redelivered(channel, queue, functions, make_trigger, verb):
    functions.answer = answering(FAILED, FAILED)
    publish(channel, queue, "a", "b", "c")
    trigger = make_trigger(queue, batch_size=3, window=300, returns_by=verb)

    await trigger.start()
    await functions.until(lambda: len(functions.calls) == 3)

    assert [call.bodies for call in functions.calls] == [["a", "b", "c"]] * 3
    assert [[record["redelivered"] for record in call.records] for call in functions.calls] == [
        [False] * 3,
        [True] * 3,
        [True] * 3,
    ]
    await trigger.stop()
    assert ready(channel, queue) == 0
    assert (trigger.status().records, trigger.status().failures) == (3, 2)
