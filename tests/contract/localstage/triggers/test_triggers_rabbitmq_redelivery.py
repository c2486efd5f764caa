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


async def test_redeliveries_to_a_failing_function_pause(channel, queue, functions, make_trigger, monkeypatch):
    pauses: list[float] = []

    async def no_pause(_: asyncio.Event, seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("localstage.triggers.rabbitmq.pause", no_pause)
    functions.answer = answering(*[FAILED] * 8)
    publish(channel, queue, "a")

    await make_trigger(queue).start()
    await functions.until(lambda: len(functions.calls) == 9)

    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


async def test_stopping_finishes_the_running_batch_and_leaves_the_others_in_the_queue(
    channel, queue, functions, make_trigger
):
    go = asyncio.Event()

    async def answer(_: Call) -> Invocation:
        await go.wait()
        return OK

    functions.answer = answer
    publish(channel, queue, "a", "b", "c")
    trigger = make_trigger(queue, batch_size=1)
    await trigger.start()
    await functions.until(lambda: len(functions.calls) == 1)

    stopping = asyncio.create_task(trigger.stop())
    await asyncio.sleep(0)
    go.set()
    await stopping

    assert functions.bodies == ["a"]
    assert trigger.status().state == "stopped"
    await eventually(lambda: ready(channel, queue) == 2)
