"""Reads the depth of the parking queues and requeues their messages, which the broker redelivered too often.

Messages are requeued one by one. A message leaves the queue only when the broker or SQS has confirmed its copy. A
connection that is lost in between leaves two copies; the event is still stored once.
"""

from __future__ import annotations

import contextlib
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pika import BasicProperties, DeliveryMode
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import NackError, UnroutableError

from headrace.core import times
from headrace.core.envelope import correlation_attribute, decode
from headrace.core.errors import BrokerUnavailable, Lane, PoisonRecord
from headrace.queues.names import PARKED_QUEUE, PERSIST_EXCHANGE, PERSIST_PREFIX, Groups, persist_queue, persist_queues
from headrace.queues.ports import RetryRecord
from headrace.queues.rabbitmq.endpoints import blocking_connection
from headrace.queues.sqs import RetryLane
from headrace.runtime.secrets import Secrets
from headrace.runtime.settings import BrokerSettings

HEARTBEAT = 2
CONNECT_SECONDS = 3.0
DEATHS = "x-death"
_BROKERS_OWN = "x-"  # how the headers begin that a broker adds; each version adds others


@dataclass(frozen=True, slots=True)
class RequeueResult:
    """``returned`` messages are in a lane again, ``left`` are still parked; ``failure`` is why it stopped early."""

    returned: int
    left: int
    failure: str = ""


@dataclass(frozen=True)
class ParkingQueue:
    """The queue ``parked`` of one broker.

    Every method may raise BrokerUnavailable, also when the broker has no such queue, and SecretsUnavailable.
    """

    settings: BrokerSettings
    secrets: Secrets
    retry_lane: RetryLane

    def depth(self) -> int:
        """How many messages are parked."""
        with self._channel() as channel:
            return _depth(channel)

    def requeue(self, lane: Lane, limit: int, rate: float, seconds: float) -> RequeueResult:
        """Requeue at most ``limit`` messages, ``rate`` a second, for ``seconds``; messages parked meanwhile are left.

        To ``main``, each message goes to the persist queue that it came from, or to one of its stream if that is gone.
        The ``retry`` lane isolates records that crash the function.
        """
        deadline = time.monotonic() + seconds
        deliver = self._publish if lane == "main" else self._send_to_retry_lane
        with self._channel() as channel:
            channel.confirm_delivery()
            count = min(limit, _depth(channel))
            for number in range(count):
                failure = move_one(channel, PARKED_QUEUE, deliver)
                if failure is not None:
                    return RequeueResult(number, _depth(channel), failure)
                if time.monotonic() + 1 / rate > deadline:
                    return RequeueResult(number + 1, _depth(channel))
                time.sleep(1 / rate)
            return RequeueResult(count, _depth(channel))

    def _publish(self, channel: BlockingChannel, properties: Any, body: bytes) -> str | None:
        queue = origin_queue(properties.headers or {}, body, self.settings.persist_queues)
        return publish_again(channel, queue, properties, body)

    def _send_to_retry_lane(self, _channel: BlockingChannel, properties: Any, body: bytes) -> str | None:
        attributes = {"reason": "parked", "lane": "main", "attempts": "1"}
        attributes |= correlation_attribute(properties.correlation_id)
        parked_at = _parked_at(properties.headers or {})
        if parked_at is not None:
            attributes["firstFailedAt"] = parked_at
        (outcome,) = self.retry_lane.send([RetryRecord(body, attributes)])
        return None if outcome is None else outcome.message

    @contextlib.contextmanager
    def _channel(self) -> Iterator[BlockingChannel]:
        with blocking_connection(self.settings, self.secrets, CONNECT_SECONDS, HEARTBEAT) as connection:
            yield connection.channel()


@dataclass(frozen=True)
class ParkingQueues:
    """The parking queues of all brokers; its methods may raise what those of :class:`ParkingQueue` do."""

    each: Sequence[ParkingQueue]

    def depth(self) -> int:
        """How many messages are parked."""
        return sum(queue.depth() for queue in self.each)

    def requeue(self, lane: Lane, limit: int, rate: float, seconds: float) -> RequeueResult:
        """Requeue the messages of one broker after the other, as :meth:`ParkingQueue.requeue`.

        With several brokers, one that is unavailable is the ``failure``, and its messages are not counted.
        """
        deadline = time.monotonic() + seconds
        returned, left, failures = 0, 0, []
        for number, queue in enumerate(self.each, 1):
            try:
                done = queue.requeue(lane, limit - returned, rate, deadline - time.monotonic())
            except BrokerUnavailable as error:
                if len(self.each) == 1:
                    raise
                failures.append(f"broker {number}: {error.message}")
                continue
            returned, left = returned + done.returned, left + done.left
            failures += filter(None, [done.failure])
        return RequeueResult(returned, left, "; ".join(failures))


Deliver = Callable[[BlockingChannel, Any, bytes], str | None]
"""Sends a message to a lane: ``None`` when the lane confirmed it, else the reason."""


def move_one(channel: BlockingChannel, queue: str, deliver: Deliver) -> str | None:
    """Move the first message of ``queue`` by ``deliver``; the reason if it stays, or if there is none."""
    method, properties, body = channel.basic_get(queue)
    if method is None or method.delivery_tag is None or body is None:
        return "another consumer took the messages"
    failure = deliver(channel, properties, body)
    if failure is None:
        channel.basic_ack(method.delivery_tag)
    else:
        channel.basic_nack(method.delivery_tag, requeue=True)
    return failure


def publish_again(channel: BlockingChannel, queue: str, properties: Any, body: bytes) -> str | None:
    """Publish a received message to a persist queue, on a channel with confirms; the reason if it is not confirmed."""
    try:
        channel.basic_publish(PERSIST_EXCHANGE, queue, body, _as_new(properties), mandatory=True)
    except UnroutableError:
        return f"no queue is bound for {queue}"
    except NackError:
        return f"{queue} takes no messages now"
    return None


def origin_queue(headers: Mapping[str, Any], body: bytes, groups: Groups) -> str:
    """The persist queue that a parked message came from; another one of its group if that is unknown or removed."""
    known, former = persist_queues(groups), ""
    for death in headers.get(DEATHS) or ():
        for name in map(str, (death.get("queue"), *(death.get("routing-keys") or ()))):
            if name in known:
                return name
            former = name if name.startswith(PERSIST_PREFIX) else former
    return queue_instead(former, body, groups)


def queue_instead(former: str, body: bytes, groups: Groups) -> str:
    """A persist queue for a message of a ``former`` one: of its group, of its stream, or else of the first group."""
    group = former.removeprefix(PERSIST_PREFIX).rpartition(".")[0]
    if group not in groups:
        try:
            group = decode(body).stream
        except PoisonRecord:
            group = ""
    if group not in groups:
        group = next(iter(groups))
    return persist_queue(group, zlib.crc32(body) % groups[group])


def _depth(channel: BlockingChannel) -> int:
    return int(channel.queue_declare(PARKED_QUEUE, passive=True).method.message_count)


def _as_new(properties: Any) -> BasicProperties:
    """The publisher's properties of the message, without the headers that the broker added."""
    headers = {name: value for name, value in (properties.headers or {}).items() if not name.startswith(_BROKERS_OWN)}
    return BasicProperties(
        content_type=properties.content_type,
        delivery_mode=DeliveryMode.Persistent.value,
        correlation_id=properties.correlation_id,
        message_id=properties.message_id,
        headers=headers or None,
    )


def _parked_at(headers: Mapping[str, Any]) -> str | None:
    """When the broker parked it, as a canonical time."""
    for death in headers.get(DEATHS) or ():
        parked_at = death.get("time")
        if isinstance(parked_at, datetime):
            return times.iso(int(parked_at.timestamp()) * 1_000_000)
    return None
