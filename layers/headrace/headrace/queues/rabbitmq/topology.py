"""What Headrace needs on the broker, declared by code: again and again without harm.

Queue type, delivery limit, overflow and dead-lettering are all written out, because RabbitMQ 3.x and 4.x have
different defaults. Nothing is ever deleted or changed in place: what exists in another form is reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pika import BlockingConnection
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker

from headrace.core.errors import SecretsUnavailable
from headrace.queues.names import (
    LIVE_EXCHANGE,
    PARKED_EXCHANGE,
    PARKED_QUEUE,
    PERSIST_EXCHANGE,
    live_queues,
    persist_queues,
)
from headrace.queues.rabbitmq.errors import PIKA_ERRORS, broker_error, is_authentication
from headrace.queues.rabbitmq.publisher import endpoints
from headrace.runtime.secrets import Secrets, credentials
from headrace.runtime.settings import TopologySettings

CONNECT_SECONDS = 5.0
RETRY_SECONDS = 1.0
HEARTBEAT_SECONDS = 15
"""Short: pika's blocking calls have no time limit, so this is what ends one on a silent broker."""
NEVER_DROPPED = 1_000_000
"""A delivery limit that means none on every version; ``-1`` drops at once on 3.10 and means none on 4.x."""
LIVE_SECONDS = 5
LIVE_LENGTH = 2_000
LIVE_BYTES = 32 * 1024 * 1024
"""How old, how many and how large live copies may get in a queue. Then the oldest go: they are in the history."""

_STRATEGY = "x-dead-letter-strategy"


@dataclass(frozen=True)
class Exchange:
    """A durable exchange."""

    name: str
    type: str


@dataclass(frozen=True)
class Queue:
    """A durable queue, bound to ``exchange`` with ``routing_key``."""

    name: str
    exchange: str
    routing_key: str
    arguments: Mapping[str, Any]


@dataclass
class Report:
    """What was declared, and in one sentence each what exists in another form and what is missing.

    ``parked`` is how many messages are parked; ``None`` if unknown.
    """

    declared: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    parked: int | None = None


def plan(queues: int, delivery_limit: int) -> list[Exchange | Queue]:
    """Everything that has to be there, in an order that can be declared."""
    parked = {"x-queue-type": "quorum", "x-overflow": "reject-publish", "x-delivery-limit": NEVER_DROPPED}
    persist = {
        "x-queue-type": "quorum",
        "x-delivery-limit": delivery_limit,
        "x-overflow": "reject-publish",
        "x-dead-letter-exchange": PARKED_EXCHANGE,
        _STRATEGY: "at-least-once",
    }
    # Classic: nothing here is worth a write to three disks. No dead-letter exchange: a late live copy is useless.
    live = {
        "x-queue-type": "classic",
        "x-message-ttl": LIVE_SECONDS * 1000,
        "x-max-length": LIVE_LENGTH,
        "x-max-length-bytes": LIVE_BYTES,
        "x-overflow": "drop-head",
    }
    return [
        Exchange(PARKED_EXCHANGE, "fanout"),
        Queue(PARKED_QUEUE, PARKED_EXCHANGE, "", parked),
        Exchange(PERSIST_EXCHANGE, "direct"),
        *(Queue(name, PERSIST_EXCHANGE, name, persist) for name in persist_queues(queues)),
        Exchange(LIVE_EXCHANGE, "direct"),
        *(Queue(name, LIVE_EXCHANGE, name, live) for name in live_queues()),
    ]


def declare(settings: TopologySettings, secrets: Secrets, *, seconds: float = 0.0) -> Report:
    """Declare the plan; what is still starting (the broker, the way to the secret) is tried again for ``seconds``.

    Raises:
        BrokerUnavailable: it could not be reached, or the connection broke.
        SecretsUnavailable: the credentials could not be read.
    """
    connection = _connect(settings, secrets, time.monotonic() + seconds)
    try:
        report = Report()
        for step in plan(settings.persist_queues, settings.persist_delivery_limit):
            _declare_one(connection, step, report)
        _attempt(connection, lambda channel: _count_parked(channel, report))
        return report
    except PIKA_ERRORS as error:
        raise broker_error(error) from error
    finally:
        if connection.is_open:
            connection.close()


def _connect(settings: TopologySettings, secrets: Secrets, deadline: float) -> BlockingConnection:
    outdated = False
    while True:
        try:
            known = credentials(secrets, settings.broker_secret_arn, fresh=outdated)
            return BlockingConnection(endpoints(settings, known, CONNECT_SECONDS, HEARTBEAT_SECONDS))
        except SecretsUnavailable:
            if time.monotonic() >= deadline:
                raise
        except PIKA_ERRORS as error:
            if time.monotonic() >= deadline:
                raise broker_error(error) from error
            outdated = is_authentication(error)
        time.sleep(RETRY_SECONDS)


def _declare_one(connection: BlockingConnection, step: Exchange | Queue, report: Report) -> None:
    if isinstance(step, Exchange):
        refused = _attempt(connection, lambda channel: channel.exchange_declare(step.name, step.type, durable=True))
        _note(report, f"exchange {step.name}", refused)
        return
    refused = _attempt(connection, lambda channel: _declare_queue(channel, step, step.arguments))
    if refused and _STRATEGY in step.arguments:
        # A broker (or an older queue) without at-least-once dead-lettering is still worth having.
        without = {name: value for name, value in step.arguments.items() if name != _STRATEGY}
        if not _attempt(connection, lambda channel: _declare_queue(channel, step, without)):
            report.declared.append(f"queue {step.name}")
            report.differs.append(f"queue {step.name} is without {_STRATEGY}: {refused}")
            return
    _note(report, f"queue {step.name}", refused)
    if refused:
        absent = _attempt(connection, lambda channel: channel.queue_bind(step.name, step.exchange, step.routing_key))
        if absent:
            report.missing.append(f"queue {step.name} cannot be used: {absent}")


def _declare_queue(channel: BlockingChannel, queue: Queue, arguments: Mapping[str, Any]) -> None:
    channel.queue_declare(queue.name, durable=True, arguments=dict(arguments))
    channel.queue_bind(queue.name, queue.exchange, queue.routing_key)


def _count_parked(channel: BlockingChannel, report: Report) -> None:
    report.parked = channel.queue_declare(PARKED_QUEUE, passive=True).method.message_count


def _attempt(connection: BlockingConnection, action: Callable[[BlockingChannel], object]) -> str | None:
    """Do ``action`` on a new channel; the broker's reason if it refuses."""
    channel = connection.channel()
    try:
        action(channel)
    except ChannelClosedByBroker as error:
        return str(error.reply_text)
    channel.close()
    return None


def _note(report: Report, what: str, refused: str | None) -> None:
    if refused is None:
        report.declared.append(what)
    else:
        report.differs.append(f"{what} exists in another form: {refused}")
