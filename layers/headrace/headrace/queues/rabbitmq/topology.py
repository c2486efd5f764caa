"""Declares the exchanges and queues that Headrace needs on the broker, and reads the depths of queues.

Queue type, delivery limit, overflow and dead-lettering are all written out, because RabbitMQ 3.x and 4.x have
different defaults. Declaring them again changes nothing. An exchange or queue that exists with other
properties is reported, and never deleted or changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pika import BlockingConnection
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker

from headrace.core.errors import BrokerUnavailable
from headrace.queues import names
from headrace.queues.brokers import LOST_BROKER, at_broker, each_broker
from headrace.queues.names import PARKED_EXCHANGE, PARKED_QUEUE
from headrace.queues.ports import QueueDepth
from headrace.queues.rabbitmq.endpoints import blocking_connection, until_available
from headrace.runtime.secrets import Secrets
from headrace.runtime.settings import BrokerSettings

CONNECT_SECONDS = 5.0
HEARTBEAT_SECONDS = 15
"""Short, so that a call to a silent broker ends after about half a minute."""
DEPTHS_HEARTBEAT_SECONDS = 1
"""It ends a call to a silent broker after about 12 s."""
NOT_FOUND = 404
DELIVERY_LIMIT = 20
"""Deliveries of a message after which RabbitMQ moves it to the parking queue."""
NEVER_DROPPED = 1_000_000
"""A delivery limit that is never reached. ``-1`` would drop at once on 3.10, and means no limit on 4.x."""
LIVE_SECONDS = 5
LIVE_LENGTH = 2_000
LIVE_BYTES = 32 * 1024 * 1024
"""How old, how many and how large the live copies in a queue may get. Beyond that the oldest are dropped."""


@dataclass(frozen=True)
class Exchange:
    """A durable exchange."""

    name: str
    type: str


@dataclass(frozen=True)
class Queue:
    """A durable queue, bound to ``exchange`` with ``routing_key``. Without a ``required`` one nothing is stored."""

    name: str
    exchange: str
    routing_key: str
    arguments: Mapping[str, Any]
    required: bool = True


@dataclass
class Report:
    """What was declared, what ``differs`` (is not as planned) and what is ``missing`` (required), a sentence for each.

    ``parked`` is the number of parked messages; ``None`` if unknown. ``unread`` are the persist and live queues without
    a consumer: their event source mappings do not read them. ``users`` says what was written of the broker's users, and
    ``moved`` how many messages came out of queues that no stream has any more.
    """

    declared: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    parked: int | None = None
    unread: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    moved: dict[str, int] = field(default_factory=dict)


def plan(groups: names.Groups, delivery_limit: int) -> list[Exchange | Queue]:
    """All exchanges and queues, each after those that it refers to."""
    parked = {"x-queue-type": "quorum", "x-overflow": "reject-publish", "x-delivery-limit": NEVER_DROPPED}
    persist = {
        "x-queue-type": "quorum",
        "x-delivery-limit": delivery_limit,
        "x-overflow": "reject-publish",
        "x-dead-letter-exchange": PARKED_EXCHANGE,
        "x-dead-letter-strategy": "at-least-once",
    }
    # Classic: a live copy is not worth replicating. No dead-letter exchange: a late one is useless.
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
        Exchange(names.PERSIST_EXCHANGE, "direct"),
        *(Queue(name, names.PERSIST_EXCHANGE, name, persist) for name in names.persist_queues(groups)),
        Exchange(names.LIVE_EXCHANGE, "direct"),
        # A live queue is on one node, and unusable while that node restarts.
        *(Queue(name, names.LIVE_EXCHANGE, name, live, required=False) for name in names.live_queues()),
    ]


def declare(
    settings: BrokerSettings, secrets: Secrets, *, seconds: float = 0.0, delivery_limit: int = DELIVERY_LIMIT
) -> Report:
    """Declare :func:`plan`. A broker or secret that is unavailable, as while a stack starts, is tried for ``seconds``.

    Raises:
        BrokerUnavailable: the broker could not be reached, or the connection was lost.
        SecretsUnavailable: the credentials could not be read.
    """

    def attempt() -> Report:
        with blocking_connection(settings, secrets, CONNECT_SECONDS, HEARTBEAT_SECONDS) as connection:
            return _declare_all(connection, settings.persist_queues, delivery_limit)

    return until_available(attempt, seconds)


def queue_depths(
    settings: BrokerSettings, secrets: Secrets, queues: Sequence[str], seconds: float
) -> dict[str, QueueDepth | str]:
    """The depth of each queue of each broker, or in a few words why it has none; at most ``seconds`` to connect.

    A broker that cannot be asked is named instead of its queues, while another one can.

    Raises:
        BrokerUnavailable: no broker could be reached, or the connection was lost.
        SecretsUnavailable: the credentials could not be read.
    """
    depths: dict[str, QueueDepth | str] = {}
    timeout = seconds / sum(map(len, settings.broker_endpoints))
    failures = []
    for number, broker in enumerate(each_broker(settings), 1):
        try:
            with blocking_connection(broker, secrets, timeout, DEPTHS_HEARTBEAT_SECONDS) as connection:
                depths |= {at_broker(name, number): depth_of(connection, name) for name in queues}
        except BrokerUnavailable as error:
            failures.append(error)
            depths[f"{LOST_BROKER}{number}"] = error.message
    if len(failures) == len(settings.broker_endpoints):
        raise failures[0]
    return depths


def depth_of(connection: BlockingConnection, name: str) -> QueueDepth | str:
    """The depth of a queue, or in a few words why it has none."""
    channel = connection.channel()
    try:
        found = channel.queue_declare(name, passive=True).method
    except ChannelClosedByBroker as error:
        return "there is no such queue" if error.reply_code == NOT_FOUND else f"the broker says {error.reply_code}"
    channel.close()
    return QueueDepth(found.message_count, found.consumer_count)


def _declare_all(connection: BlockingConnection, groups: names.Groups, delivery_limit: int) -> Report:
    report = Report()
    for step in plan(groups, delivery_limit):
        _declare_one(connection, step, report)
    read = [*names.persist_queues(groups), *names.live_queues()]
    depths = {name: depth_of(connection, name) for name in (PARKED_QUEUE, *read)}
    parked = depths.pop(PARKED_QUEUE)
    report.parked = parked.ready if isinstance(parked, QueueDepth) else None
    report.unread = [name for name, depth in depths.items() if isinstance(depth, str) or not depth.consumers]
    return report


def _declare_one(connection: BlockingConnection, step: Exchange | Queue, report: Report) -> None:
    if isinstance(step, Exchange):
        refused = _attempt(connection, lambda channel: channel.exchange_declare(step.name, step.type, durable=True))
        _note(report, f"exchange {step.name}", refused)
        return
    refused = _attempt(connection, lambda channel: _declare_queue(channel, step))
    _note(report, f"queue {step.name}", refused)
    if refused:
        absent = _attempt(connection, lambda channel: channel.queue_bind(step.name, step.exchange, step.routing_key))
        if absent:
            found = report.missing if step.required else report.differs
            found.append(f"queue {step.name} cannot be used: {absent}")


def _declare_queue(channel: BlockingChannel, queue: Queue) -> None:
    channel.queue_declare(queue.name, durable=True, arguments=dict(queue.arguments))
    channel.queue_bind(queue.name, queue.exchange, queue.routing_key)


def _attempt(connection: BlockingConnection, action: Callable[[BlockingChannel], object]) -> str | None:
    """Run ``action`` on a new channel; the broker's reason if it refuses."""
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
        report.differs.append(f"{what} exists with other properties: {refused}")
