"""Measures a RabbitMQ mapping with a function that does nothing: ``python -m bench.triggers``.

Starts the services of a stage, fills a queue, and lets the mapping drain it. It prints the cost of the stage per
record; a real function adds its own time.
"""

from __future__ import annotations

import argparse
import asyncio
import time

import pika
import uvloop

from bench.services import running
from localstage.core.invoker import Invocation
from localstage.core.model import RabbitMqMapping
from localstage.services import Endpoints
from localstage.triggers import RabbitMqTrigger

QUEUE = "bench"


class NoOp:
    """Counts records without reading them, so that only the trigger is measured."""

    def __init__(self, expected: int) -> None:
        self._left = expected
        self.invocations = 0
        self.bytes = 0
        self.done = asyncio.Event()

    async def invoke(self, function_id: str, event: bytes, *, dedicated_to: str | None = None) -> Invocation:
        self.invocations += 1
        self.bytes += len(event)
        self._left -= event.count(b'"basicProperties"')
        if self._left <= 0:
            self.done.set()
        return Invocation(b"null")


async def slowest_step(stop: asyncio.Event) -> float:
    """Return the longest time, in seconds, for which the event loop delayed another task."""
    slowest = 0.0
    while not stop.is_set():
        begin = time.perf_counter()
        await asyncio.sleep(0.001)
        slowest = max(slowest, time.perf_counter() - begin - 0.001)
    return slowest


def fill(broker: Endpoints, records: int, size: int) -> None:
    url = pika.URLParameters(broker.amqp_url)
    url.credentials = pika.PlainCredentials(broker.broker_username, broker.broker_password)
    with pika.BlockingConnection(url) as connection:
        channel = connection.channel()
        channel.queue_delete(QUEUE)
        channel.queue_declare(QUEUE, durable=True)
        for number in range(records):
            properties = pika.BasicProperties(
                content_type="application/json", delivery_mode=1, message_id=str(number), headers={"stream": "chat"}
            )
            channel.basic_publish("", QUEUE, b"x" * size, properties)


async def drain(broker: Endpoints, records: int, batch_size: int) -> str:
    functions = NoOp(records)
    mapping = RabbitMqMapping("Bench", "NoOp", "Broker", "Keys", QUEUE, "/", batch_size, 0)
    trigger = RabbitMqTrigger(
        mapping,
        functions,
        broker_url=broker.amqp_url,
        username=broker.broker_username,
        password=broker.broker_password,
        broker_arn="arn:aws:mq:::bench",
    )
    watch = asyncio.create_task(slowest_step(functions.done))
    wall, cpu = time.perf_counter(), time.process_time()
    await trigger.start()
    await functions.done.wait()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    await trigger.stop()
    per_event = records / functions.invocations
    kilobytes = functions.bytes / functions.invocations / 1024
    return (
        f"| {batch_size:,} | {records / wall:,.0f} | {cpu / records * 1e6:.1f} | {per_event:,.0f} | {kilobytes:,.0f} "
        f"| {await watch * 1000:.0f} |"
    )


async def main(records: int, size: int, batch_sizes: list[int]) -> None:
    async with running() as broker:
        print(f"{records:,} records of {size} bytes")
        print("| batch size | records/s | CPU µs per record | records per event | KB per event | loop held ms |")
        print("| --- | --- | --- | --- | --- | --- |")
        for batch_size in batch_sizes:
            await asyncio.to_thread(fill, broker, records, size)
            print(await drain(broker, records, batch_size), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--size", type=int, default=250, help="bytes of one body")
    parser.add_argument("--batch-size", type=int, nargs="*", default=[10, 100, 1_000, 10_000])
    options = parser.parse_args()
    uvloop.run(main(options.records, options.size, options.batch_size))
