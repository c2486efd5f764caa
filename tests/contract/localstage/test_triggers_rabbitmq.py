"""The RabbitMQ mapping against a real broker."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

import pika
import pytest
import uvloop
from aws_lambda_powertools.utilities.data_classes.rabbit_mq_event import RabbitMQEvent
from local_services import RabbitServer
from pika.adapters.blocking_connection import BlockingChannel
from trigger_fakes import FAILED, OK, Call, FakeFunctions, answering, eventually

from localstage.errors import StageError
from localstage.invoking import Invocation
from localstage.model import RabbitMqMapping
from localstage.triggers.rabbitmq import RabbitMqTrigger

ARN = "arn:aws:mq:us-east-1:123456789012:broker:local:b-1"
MakeTrigger = Callable[..., RabbitMqTrigger]


@pytest.fixture
def queue(channel: BlockingChannel) -> str:
    name = f"q-{uuid.uuid4()}"
    channel.queue_declare(name, durable=True, arguments={"x-queue-type": "classic"})
    return name


@pytest.fixture
async def functions() -> FakeFunctions:
    return FakeFunctions()


def new_trigger(
    url: str, functions: FakeFunctions, queue: str, *, id: str = "Mapping", batch_size: int = 10, window: int | None = 0
) -> RabbitMqTrigger:
    mapping = RabbitMqMapping(id, "Persist", "Broker", queue, "/", batch_size, window)
    return RabbitMqTrigger(mapping, functions, broker_url=url, username="guest", password="guest", broker_arn=ARN)


@pytest.fixture
async def make_trigger(rabbitmq: str, functions: FakeFunctions) -> AsyncIterator[MakeTrigger]:
    made: list[RabbitMqTrigger] = []

    def make(*args: object, **options: object) -> RabbitMqTrigger:
        made.append(new_trigger(rabbitmq, functions, *args, **options))
        return made[-1]

    yield make
    for trigger in made:
        await trigger.stop(grace=0)


def publish(channel: BlockingChannel, queue: str, *bodies: str, **properties: object) -> None:
    for body in bodies:
        channel.basic_publish("", queue, body.encode(), pika.BasicProperties(delivery_mode=2, **properties))


def ready(channel: BlockingChannel, queue: str) -> int:
    return channel.queue_declare(queue, passive=True).method.message_count


async def test_records_arrive_in_order_in_batches_of_at_most_the_batch_size(channel, queue, functions, make_trigger):
    sent = [str(number) for number in range(25)]
    publish(channel, queue, *sent)

    await make_trigger(queue, batch_size=10, window=1).start()
    await functions.until(lambda: len(functions.bodies) == 25)

    assert functions.bodies == sent
    assert [len(call.records) for call in functions.calls] == [10, 10, 5]
    assert {(call.function_id, call.lane) for call in functions.calls} == {("Persist", "Mapping")}


async def test_a_full_batch_does_not_wait_for_its_window(channel, queue, functions, make_trigger):
    await make_trigger(queue, batch_size=2, window=300).start()
    publish(channel, queue, "a", "b")

    await functions.until(lambda: functions.bodies == ["a", "b"])


async def test_without_a_window_a_record_does_not_wait_for_others(channel, queue, functions, make_trigger):
    await make_trigger(queue, batch_size=10_000, window=0).start()
    publish(channel, queue, "a")

    await functions.until(lambda: functions.bodies == ["a"])


@pytest.mark.parametrize("window", [None, 1])
async def test_records_within_the_window_share_a_batch(channel, queue, functions, make_trigger, window):
    await make_trigger(queue, batch_size=100, window=window).start()
    publish(channel, queue, "a", "b", "c")

    await functions.until(lambda: len(functions.calls) == 1)
    assert functions.bodies == ["a", "b", "c"]


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


async def test_after_an_error_the_whole_batch_comes_again_redelivered(channel, queue, functions, make_trigger):
    functions.answer = answering(FAILED, FAILED)
    publish(channel, queue, "a", "b", "c")
    trigger = make_trigger(queue, batch_size=3, window=300)

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


async def test_a_failing_function_is_not_driven_through_deliveries_without_a_pause(
    channel, queue, functions, make_trigger, monkeypatch
):
    pauses: list[float] = []

    async def no_pause(_: asyncio.Event, seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("localstage.triggers.rabbitmq.pause", no_pause)
    functions.answer = answering(*[FAILED] * 8)
    publish(channel, queue, "a")

    await make_trigger(queue).start()
    await functions.until(lambda: len(functions.calls) == 9)

    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


async def test_a_function_that_cannot_be_started_counts_as_an_error(channel, queue, functions, make_trigger):
    answers: list[Exception] = [StageError("no environment"), KeyError("Persist")]

    async def answer(_: Call) -> Invocation:
        if answers:
            raise answers.pop(0)
        return OK

    functions.answer = answer
    publish(channel, queue, "a")

    await make_trigger(queue).start()

    await functions.until(lambda: functions.bodies == ["a", "a", "a"])


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


async def test_properties_and_headers_reach_the_function_in_the_shape_that_lambda_gives_them(
    channel, queue, functions, make_trigger
):
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
    assert (event.event_source, event.event_source_arn) == ("aws:rmq", ARN)
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


async def test_a_queue_that_is_declared_later_is_picked_up(channel, functions, make_trigger, caplog):
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


async def test_a_wrong_password_is_said_without_the_password(rabbitmq, queue, functions, caplog):
    mapping = RabbitMqMapping("Mapping", "Persist", "Broker", queue, "/", 1, 0)
    trigger = RabbitMqTrigger(
        mapping, functions, broker_url=rabbitmq, username="guest", password="not-that", broker_arn=ARN
    )
    await trigger.start()
    await eventually(lambda: trigger.status().state == "waiting")
    await trigger.stop()

    assert "refused" in caplog.text
    assert "not-that" not in caplog.text


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


async def test_a_stopped_trigger_can_be_stopped_again_and_a_disabled_one_reads_nothing(rabbitmq, channel, queue):
    functions = FakeFunctions()
    mapping = RabbitMqMapping("Mapping", "Persist", "Broker", queue, "/", 1, 0, enabled=False)
    trigger = RabbitMqTrigger(
        mapping, functions, broker_url=rabbitmq, username="guest", password="guest", broker_arn=ARN
    )
    publish(channel, queue, "a")

    await trigger.start()
    await trigger.stop()
    await trigger.stop()

    assert functions.calls == []
    assert ready(channel, queue) == 1


async def test_a_broker_that_dies_and_returns_is_read_again_and_nothing_is_lost(own_rabbitmq: RabbitServer, functions):
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
    trigger = new_trigger(own_rabbitmq.url, functions, "kept", batch_size=2, window=1)
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


class _YearTenThousand(pika.BasicProperties):
    """Properties whose headers hold a time that Python has no date for."""

    def encode(self) -> list[bytes]:
        table = b"\x01tT" + (300_000_000_000).to_bytes(8, "big")
        return [(0x2000).to_bytes(2, "big"), len(table).to_bytes(4, "big") + table]


async def test_a_delivery_that_cannot_be_decoded_is_said_and_does_not_hang_the_mapping(
    channel, queue, functions, make_trigger
):
    trigger = make_trigger(queue)
    channel.basic_publish("", queue, b"a", _YearTenThousand())
    await trigger.start()
    await eventually(lambda: "could not be read" in (trigger.status().trouble or ""))

    channel.queue_purge(queue)
    await trigger.stop()
    channel.queue_purge(queue)
    publish(channel, queue, "b")
    await make_trigger(queue).start()

    await functions.until(lambda: functions.bodies == ["b"])


def test_the_trigger_runs_under_uvloop(rabbitmq: str, channel: BlockingChannel, queue: str):
    publish(channel, queue, "a", "b")

    async def run() -> list[str]:
        functions = FakeFunctions()
        trigger = new_trigger(rabbitmq, functions, queue, batch_size=2, window=300)
        await trigger.start()
        await functions.until(lambda: len(functions.calls) == 1)
        await trigger.stop()
        return functions.bodies

    assert uvloop.run(run()) == ["a", "b"]
    assert ready(channel, queue) == 0
