"""``make contract BROKERS=1``: the contract tests of the broker on each RabbitMQ, and when it drops what comes back.

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


if __name__ == "__main__":
    if "--measure" in sys.argv:
        with running_rabbit() as measured:
            print(json.dumps(measure(measured)))
    else:
        sys.exit(main())
