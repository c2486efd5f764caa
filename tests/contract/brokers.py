"""``make contract BROKERS=1``: the contract tests of the broker on each RabbitMQ, and a table of what differs.

``python -m tests.contract.brokers --measure`` prints the column of one broker, which the environment names.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import AMQPError, ChannelClosedByBroker, UnroutableError

from localstage.services.programs import SUITE
from localstage.services.services import BROKER_NODES
from tests.contract.rabbit import Rabbit, running_rabbit

BROKERS = [(suite, nodes) for suite in ("trixie", "forky") for nodes in (1, 3)]
SEAM = ("tests/contract/queues", "tests/contract/localstage/triggers")
TRIES = 30
NEVER = f"never ({TRIES} tried)"


def main() -> int:
    """The command."""
    columns: list[dict[str, str]] = []
    failed = False
    for suite, nodes in BROKERS:
        print(f"headrace: RabbitMQ of Debian {suite}, nodes: {nodes}", flush=True)
        environment = {**os.environ, SUITE: suite, BROKER_NODES: str(nodes)}
        tests = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "--timeout", "400", *SEAM]
        code = subprocess.run(tests, env=environment, check=False).returncode
        failed = failed or code != 0
        measure = [sys.executable, "-m", "tests.contract.brokers", "--measure"]
        said = subprocess.run(measure, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
        columns.append({**json.loads(said.splitlines()[-1]), "contract tests": "FAILED" if code else "passed"})
    for row in columns[0]:
        print("|", " | ".join([row, *(column[row] for column in columns)]), "|")
        if row == "RabbitMQ":
            print("| --- " * (len(columns) + 1) + "|")
    return int(failed)


def measure(rabbit: Rabbit) -> dict[str, str]:
    """What one broker does, by what was asked."""

    after = partial(deliveries, rabbit)
    with opened(rabbit.port) as channel:
        version = str(channel.connection._impl.server_properties["version"])  # type: ignore[attr-defined]
    return {
        "RabbitMQ": f"{version}, {len(rabbit.peers) + 1} node{'s' if rabbit.peers else ''}",
        "limit 5, returned by reject: gone after": after(reject),
        "limit 5, returned by nack: gone after": after(nack),
        "limit 5, channel closed: gone after": after(close),
        "no limit, returned by reject: gone after": after(reject, None),
        "no limit, channel closed: gone after": after(close, None),
        "limit 5, a policy says 2: gone after": after(reject, 5, 2),
        "headers of the first delivery": headers(rabbit, 0),
        "headers of the second, after a nack": headers(rabbit, 1),
        "memory alarm": blocked(rabbit),
        "transient queue, not exclusive": refused(rabbit, lambda channel: channel.queue_declare("transient")),
        "global QoS": refused(rabbit, lambda channel: channel.basic_qos(0, 10, global_qos=True)),
        "home node of a classic queue is away": without_home(rabbit, "classic"),
        "leader of a quorum queue is away": without_home(rabbit, "quorum"),
    }


@contextlib.contextmanager
def opened(port: int) -> Iterator[BlockingChannel]:
    """A channel with confirms."""
    connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port))
    try:
        channel = connection.channel()
        channel.confirm_delivery()
        yield channel
    finally:
        if connection.is_open:
            connection.close()


def reject(channel: BlockingChannel, tag: int) -> None:
    channel.basic_reject(tag, requeue=True)


def nack(channel: BlockingChannel, tag: int) -> None:
    channel.basic_nack(tag, requeue=True)


def close(channel: BlockingChannel, _tag: int) -> None:
    channel.close()


def declare(channel: BlockingChannel, name: str, **arguments: Any) -> None:
    channel.queue_delete(name)
    channel.queue_declare(name, durable=True, arguments={"x-queue-type": "quorum", **arguments})
    channel.basic_publish("", name, b"event", pika.BasicProperties(delivery_mode=2), mandatory=True)


def take(channel: BlockingChannel, name: str) -> Any:
    """The next message, which may be on its way back; ``None`` if it is gone."""
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        method, properties, _ = channel.basic_get(name)
        if method is not None:
            return method, properties
        time.sleep(0.02)
    return None


def deliveries(
    rabbit: Rabbit,
    give_back: Callable[[BlockingChannel, int], None],
    limit: int | None = 5,
    policy: int | None = None,
) -> str:
    """After how many deliveries a message leaves its queue that is returned each time."""
    with opened(rabbit.port) as channel:
        if policy:
            rabbit.control("set_policy", "limit", "^counted$", json.dumps({"delivery-limit": policy}))
        declare(channel, "counted", **({} if limit is None else {"x-delivery-limit": limit}))
        count = 0
        while count < TRIES and (got := take(channel, "counted")) is not None:
            count += 1
            give_back(channel, got[0].delivery_tag)
            if channel.is_closed:
                channel = channel.connection.channel()
    if policy:
        rabbit.control("clear_policy", "limit")
    return NEVER if count == TRIES else str(count)


def headers(rabbit: Rabbit, returns: int) -> str:
    with opened(rabbit.port) as channel:
        declare(channel, "headers")
        for _ in range(returns):
            nack(channel, take(channel, "headers")[0].delivery_tag)
        found = take(channel, "headers")[1].headers or {}
    return ", ".join(f"{name} {value}" for name, value in sorted(found.items())) or "none"


def blocked(rabbit: Rabbit) -> str:
    said: list[object] = []
    with opened(rabbit.port) as channel:
        connection = channel.connection
        connection.add_on_connection_blocked_callback(lambda _, method: said.append(method))
        declare(channel, "blocked")
        rabbit.control("set_vm_memory_high_watermark", "0.00001")
        try:
            # The broker tells it to a connection that publishes while the alarm is on, and reads nothing more from it.
            channel._impl.basic_publish("", "blocked", b"", pika.BasicProperties())
            connection.process_data_events(5)
        finally:
            rabbit.control("set_vm_memory_high_watermark", "0.6")
    return "connection.blocked" if said else "no word"


def refused(rabbit: Rabbit, action: Callable[[BlockingChannel], object]) -> str:
    with opened(rabbit.port) as channel:
        try:
            action(channel)
        except AMQPError as error:
            return f"refused ({error.args[0]})"
    return "works"


def without_home(rabbit: Rabbit, kind: str) -> str:
    """What happens to a publish while the node is away on which the queue was declared."""
    if not rabbit.peers:
        return "-"
    name = f"at-home-{kind}"
    rabbit.start_again()
    with opened(rabbit.port) as channel:
        channel.queue_declare(name, durable=True, arguments={"x-queue-type": kind})
    rabbit.kill()
    began = time.monotonic()
    while True:
        try:
            with opened(next(iter(rabbit.peers.values()))[0]) as channel:
                channel.basic_publish("", name, b"event", pika.BasicProperties(delivery_mode=2), mandatory=True)
                return f"confirmed {time.monotonic() - began:.1f} s later"
        except UnroutableError:
            return "returned: unroutable"
        except ChannelClosedByBroker as error:
            return f"refused ({error.reply_code})"
        except AMQPError:
            if time.monotonic() > began + 60:
                return "not confirmed in 60 s"


if __name__ == "__main__":
    if "--measure" in sys.argv:
        with running_rabbit() as measured:
            print(json.dumps(measure(measured)))
    else:
        sys.exit(main())
