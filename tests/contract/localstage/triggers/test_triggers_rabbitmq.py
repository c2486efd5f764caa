"""The RabbitMQ mapping against a real broker: batches, and the records in them."""

from __future__ import annotations

import asyncio
import logging
import uuid
from datetime import UTC, datetime

import pytest
from aws_lambda_powertools.utilities.data_classes.rabbit_mq_event import RabbitMQEvent

from localstage.core.invoker import Invocation
from tests.contract.localstage.triggers.trigger_fakes import (
    BROKER_ARN,
    OK,
    Call,
    fake_functions,  # noqa: F401 - a fixture
    publish,
    rabbitmq_queue,  # noqa: F401 - a fixture
    rabbitmq_triggers,  # noqa: F401 - a fixture
    ready,
)


async def test_records_arrive_in_order_in_batches_of_at_most_the_batch_size(channel, queue, functions, make_trigger):
    sent = [str(number) for number in range(25)]
    publish(channel, queue, *sent)

    await make_trigger(queue, batch_size=10, window=1).start()
    await functions.until(lambda: len(functions.bodies) == 25)

    assert functions.bodies == sent
    assert [len(call.records) for call in functions.calls] == [10, 10, 5]
    assert {(call.function_id, call.dedicated_to) for call in functions.calls} == {("Persist", "Mapping")}


@pytest.mark.parametrize("window", [None, 1])
async def test_records_within_the_window_share_a_batch_and_are_held_until_it_is_done(
    channel, queue, functions, make_trigger, window
):
    trigger = make_trigger(queue, batch_size=100, window=window)
    held = []

    async def answer(_: Call) -> Invocation:
        held.append(trigger.status().held)
        return OK

    functions.answer = answer
    await trigger.start()
    publish(channel, queue, "a", "b", "c")
    await functions.until(lambda: held)
    await trigger.stop()

    assert functions.bodies == ["a", "b", "c"]
    assert (held, trigger.status().held) == ([3], 0)


async def test_an_event_never_exceeds_6_mb_and_a_record_that_alone_does_is_dropped(
    channel, queue, functions, make_trigger, caplog
):
    caplog.set_level(logging.WARNING, "localstage.triggers")
    million = "x" * 1_000_000
    publish(channel, queue, *[million] * 5, "y" * 4_718_000, "z" * 5_000_000, "end")
    trigger = make_trigger(queue, batch_size=100, window=1)

    await trigger.start()
    await functions.until(lambda: "end" in functions.bodies)

    assert [len(body) for body in functions.bodies] == [*[1_000_000] * 5, 4_718_000, 3]
    assert all(call.size <= 6 * 1024 * 1024 for call in functions.calls)
    assert "dropped a record of 5000000 bytes" in caplog.text
    await trigger.stop()
    assert ready(channel, queue) == 0


async def test_properties_and_headers_have_the_shape_that_lambda_gives_them(channel, queue, functions, make_trigger):
    died = datetime(2025, 11, 21, 10, 0, 58, tzinfo=UTC)
    publish(
        channel,
        queue,
        '{"v": 1}',
        content_type="application/json",
        content_encoding="identity",
        headers={"text": "añ", "number": 10, "yes": True, "none": None, "x-death": [{"queue": "q", "time": died}]},
        priority=3,
        correlation_id="c-1",
        reply_to="answers",
        expiration="60000",
        message_id="m-1",
        timestamp=2021,
        type="chat",
        user_id="guest",
        app_id="headrace",
    )

    await make_trigger(queue).start()
    await functions.until(lambda: len(functions.calls) == 1)

    event = RabbitMQEvent(functions.calls[0].event)
    assert (event.event_source, event.event_source_arn) == ("aws:rmq", BROKER_ARN)
    assert list(event.rmq_messages_by_queue) == [f"{queue}::/"]
    (message,) = event.rmq_messages_by_queue[f"{queue}::/"]
    assert (message.json_data, message.redelivered) == ({"v": 1}, False)
    assert message.basic_properties.raw_event == {
        "contentType": "application/json",
        "contentEncoding": "identity",
        "headers": {
            "text": {"bytes": [97, -61, -79]},
            "number": 10,
            "yes": True,
            "none": None,
            "x-death": [{"queue": {"bytes": [113]}, "time": "Nov 21, 2025, 10:00:58 AM"}],
        },
        "deliveryMode": 2,
        "priority": 3,
        "correlationId": "c-1",
        "replyTo": "answers",
        "expiration": "60000",
        "messageId": "m-1",
        "timestamp": "Jan 1, 1970, 12:33:41 AM",
        "type": "chat",
        "userId": "guest",
        "appId": "headrace",
        "clusterId": None,
        "bodySize": 8,
    }


async def test_a_mapping_runs_one_invocation_at_a_time_and_mappings_run_side_by_side(channel, functions, make_trigger):
    together = asyncio.Barrier(3)

    async def answer(_: Call) -> Invocation:
        await together.wait()
        return OK

    functions.answer = answer
    for name in ("One", "Two", "Three"):
        queue = f"q-{uuid.uuid4()}"
        channel.queue_declare(queue)
        publish(channel, queue, *"abcdef")
        await make_trigger(queue, id=name, batch_size=2, window=0).start()

    await functions.until(lambda: len(functions.bodies) == 18)

    assert [functions.most[name] for name in ("One", "Two", "Three", "all")] == [1, 1, 1, 3]
