"""Compares the whole receiving handler with a bare publish and confirm: ``python -m bench.publish``.

Starts its own RabbitMQ. Each round measures, in turn: a bare pika ``BlockingChannel`` that publishes
(persistent, ``mandatory``) and waits for the confirm; the handler of receive_frame with one message, from the frame
to the acknowledgement (token, validation, time, envelope, publish, confirm, metrics); and the handler with a batch of
100. All publish to the same exchange and queue; the bare client sends the same body as the handler. Numbers are medians
over the rounds. The handler's log lines for CloudWatch are written to /dev/null.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import runpy
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pika

from bench import ROOT
from bench.rounds import Series, command, figure, head, ratio, row
from bench.services import broker_parameters, create_table, running
from headrace.core import times
from localstage.services import Endpoints

BATCH = 100
EVENT = {
    "roomId": "general",
    "messageId": "7f2c9a10-1b3d-4c5e-8f60-2f6d8e915c37",
    "timestamp": times.iso(time.time_ns() // 1000),
    "message": "message number 4711, about as long as people write in a chat",
}
Handler = Callable[[dict[str, Any], object], dict[str, Any]]


def prepare(endpoints: Endpoints) -> Handler:
    """Create secret and queues, and set variables, as a deployment does; returns the handler of receive_frame."""
    import boto3

    secret = boto3.client("secretsmanager").create_secret(
        Name="broker",
        SecretString=json.dumps({"username": endpoints.broker_username, "password": endpoints.broker_password}),
    )
    dynamodb = boto3.client("dynamodb")
    os.environ.update(
        BROKER_ENDPOINTS=endpoints.amqp_url,
        BROKER_SECRET_ARN=secret["ARN"],
        PERSIST_QUEUES="chat=1",
        RETRY_QUEUE_URL=boto3.client("sqs").create_queue(QueueName="retry")["QueueUrl"],
        CACHE_ENDPOINT=endpoints.cache_endpoint,
        EVENT_RATE="100000",  # so that the sender is counted, and never refused
        BACKLOG_SECONDS="30",
        ROOMS_TABLE=create_table(dynamodb, "Rooms"),
        MEMBERSHIPS_TABLE=create_table(dynamodb, "Memberships"),
    )
    from headrace.bootstrap.topology import declare_topology

    declare_topology(0.0)
    handler: Handler = runpy.run_path(str(ROOT / "functions" / "receive_frame" / "app.py"))["handler"]
    return handler


def frame(body: dict[str, Any]) -> dict[str, Any]:
    """The event of a frame as API Gateway sends it, with a token that does not expire."""
    event: dict[str, Any] = json.loads((ROOT / "events" / "receive_frame.sendMessage.json").read_text())
    event["requestContext"]["routeKey"] = body["action"]
    event["requestContext"]["authorizer"]["exp"] = "4102444800"
    return event | {"body": json.dumps(body)}


class Bare:
    """pika as its documentation shows it: one channel with confirms, one message at a time."""

    def __init__(self, broker: pika.URLParameters) -> None:
        self._connection = pika.BlockingConnection(broker)
        self._channel = self._connection.channel()
        self._channel.confirm_delivery()
        self._properties = pika.BasicProperties(content_type="application/json", delivery_mode=2, correlation_id="c-1")
        self._exchange = "headrace.events"
        self.queue = ""
        self.body = b""

    def declare(self, queue: str, body: bytes) -> None:
        """Publish ``body`` to its own ``queue`` from now on, which keeps the last hundred."""
        self._exchange, self.queue, self.body = "", queue, body
        limits = {"x-queue-type": "quorum", "x-max-length": BATCH}
        self._channel.queue_declare(queue, durable=True, arguments=limits)

    def copy(self, queue: str) -> None:
        """Publish to ``queue`` from now on, with the body of the last message in it."""
        _, _, body = self._channel.basic_get(queue, auto_ack=True)
        self.queue, self.body = queue, body or b""

    def publish(self) -> None:
        self._channel.basic_publish(self._exchange, self.queue, self.body, self._properties, mandatory=True)

    def purge(self) -> None:
        self._channel.queue_purge(self.queue)


def timed(call: Callable[[], object]) -> float:
    """Seconds that ``call`` takes."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


@contextlib.contextmanager
def silence() -> Iterator[None]:
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def accept(handler: Handler, event: dict[str, Any]) -> None:
    """One invocation; every event must have taken the main lane."""
    answer = handler(event, None)
    if '"retry"' in answer["body"] or '"error"' in answer["body"]:
        raise SystemExit(f"not accepted by the broker: {answer['body'][:500]}")


def measure(endpoints: Endpoints, rounds: int, calls: int) -> list[tuple[float, float, float]]:
    """Per round: seconds of a bare publish, of a handled message, and of a handled batch."""
    with silence():
        handler = prepare(endpoints)
    single = frame({"action": "sendMessage", **EVENT})
    # The id of the first event determines the queue, so single and batch use the same one.
    others = [{**EVENT, "messageId": f"{number:08d}-1b3d-4c5e-8f60-2f6d8e915c37"} for number in range(1, BATCH)]
    batch = frame({"action": "sendBatch", "events": [EVENT, *others]})
    bare = Bare(broker_parameters(endpoints.amqp_url, endpoints.broker_username, endpoints.broker_password))
    seen = []
    with silence():
        accept(handler, single)
        bare.copy("persist.chat.0")
        for number in range(rounds + 1):
            times: tuple[list[float], list[float], list[float]] = ([], [], [])
            for call in range(calls):
                # They take turns, so that other work on this machine affects both.
                times[0].append(timed(bare.publish))
                times[1].append(timed(lambda: accept(handler, single)))
                if call % 10 == 0:
                    times[2].append(timed(lambda: accept(handler, batch)))
            bare.purge()
            if number:  # the first round warms up
                one, handled, batched = map(statistics.median, times)
                seen.append((one, handled, batched))
    return seen


def report(seen: list[tuple[float, float, float]]) -> list[Series]:
    """Print the table; returns its numbers."""
    bares, ones, batches = zip(*seen, strict=True)
    bare, one, batch = map(statistics.median, (bares, ones, batches))
    time_of_one = ratio("one event, time against a bare publish", ones, bares, "lower")
    rate_of_batch = ratio(
        f"batch of {BATCH}, rate against bare publishes", (BATCH * each for each in bares), batches, "higher"
    )
    head("", "bare pika, one confirm at a time", "the whole handler", "ratio", "aim")
    row("one event", f"{bare * 1e3:.2f} ms", f"{one * 1e3:.2f} ms", f"{time_of_one.median:.2f}× the time", "≤ 1.4×")
    rates = f"{1 / bare:,.0f} events/s | {BATCH / batch:,.0f} events/s"
    row(f"batch of {BATCH}", f"{rates}", f"{rate_of_batch.median:.1f}× the rate", "≥ 6×")
    return [
        time_of_one,
        rate_of_batch,
        figure("one event", (each * 1e3 for each in ones), "ms"),
        figure("bare publish", (each * 1e3 for each in bares), "ms"),
    ]


async def main(rounds: int, calls: int) -> list[Series]:
    async with running() as endpoints:
        seen = await asyncio.to_thread(measure, endpoints, rounds, calls)
        print(f"Medians of {rounds} rounds of {calls} calls each; same broker, queue and body.\n")
        return report(seen)


if __name__ == "__main__":
    command(__doc__, main, 9, calls=300)
