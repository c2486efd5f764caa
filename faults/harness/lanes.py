"""Reads the queues behind the proxies without the platform's code: the depths of all lanes, and the dead letters."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pika
from botocore.exceptions import BotoCoreError, ClientError
from pika.exceptions import AMQPError, ChannelClosedByBroker

from faults.harness.services import ProxiedServices

QUEUES = ("persist.chat.0", "persist.ski.0", "persist.ads.0")
PARKING_QUEUE = "parked"
POLL = 0.25
EMPTY_POLLS = 3
"""Number of polls in a row that must find the lanes drained: a record may be on its way between two lanes."""


@dataclass(frozen=True)
class DeadLetter:
    """A record that SQS moved to the dead lane."""

    body: bytes
    reason: str


@dataclass(frozen=True)
class Depths:
    """Records in the persist queues, the parking queue, the RetryQueue (in flight included) and the dead lane.

    ``working`` counts batches in persist_events: the broker does not count their records.
    """

    persist: int
    parking: int
    retry: int
    dead: int
    working: int = 0

    @property
    def moving(self) -> int:
        """Records that are not yet stored, dead or parked."""
        return self.persist + self.retry + self.working


class Lanes:
    """The lanes of one stage. Not shared between threads."""

    def __init__(self, services: ProxiedServices, working: Callable[[], int]) -> None:
        """``working`` returns the number of batches in persist_events."""
        self._services = services
        self._working = working
        self._sqs = services.sqs_client()
        urls: list[str] = self._sqs.list_queues().get("QueueUrls", [])
        self.retry_url = next(url for url in urls if url.endswith("-retry"))
        self.dead_url = next(url for url in urls if "-DeadLetterQueue" in url)

    def depths(self) -> Depths:
        """The current depths.

        Raises:
            pika.exceptions.AMQPError: the broker is unavailable.
        """
        # A queue may be deleted, and not yet declared again.
        persist = self._persist()
        parking = self._depth(PARKING_QUEUE) or 0
        return Depths(persist, parking, self._count(self.retry_url), self._count(self.dead_url), self._working())

    def waiting(self) -> tuple[int | None, int | None, int | None]:
        """Records in the persist queues, the RetryQueue and the dead lane; None for a service that does not answer."""

        def answered(depth: Callable[[], int]) -> int | None:
            try:
                return depth()
            except (AMQPError, BotoCoreError, ClientError, OSError):
                return None

        return (
            answered(self._persist),
            answered(lambda: self._count(self.retry_url)),
            answered(lambda: self._count(self.dead_url)),
        )

    def drain(self, patience: float, done: Callable[[Depths], bool] = lambda depths: not depths.moving) -> Depths:
        """Wait until ``done``, at most ``patience`` seconds; returns the last depths."""
        deadline = time.monotonic() + patience
        quiet = 0
        while True:
            try:
                found = self.depths()
                quiet = quiet + 1 if done(found) else 0
            except AMQPError:
                found, quiet = Depths(-1, -1, -1, -1), 0
            if quiet >= EMPTY_POLLS or time.monotonic() > deadline:
                return found
            time.sleep(POLL)

    def take_dead(self) -> list[DeadLetter]:
        """Receive and delete all dead letters."""
        found: list[DeadLetter] = []
        while self._count(self.dead_url):
            answer: Any = self._sqs.receive_message(
                QueueUrl=self.dead_url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], WaitTimeSeconds=1
            )
            for message in answer.get("Messages", []):
                found.append(_dead_letter(message))
                self._sqs.delete_message(QueueUrl=self.dead_url, ReceiptHandle=message["ReceiptHandle"])
        return found

    def send_to_retry(self, body: str, encoding: str = "") -> None:
        """Send a record to the retry lane, as a faulty producer would."""
        attributes: Any = {"encoding": {"DataType": "String", "StringValue": encoding}} if encoding else {}
        self._sqs.send_message(QueueUrl=self.retry_url, MessageBody=body, MessageAttributes=attributes)

    def publish(self, bodies: list[bytes]) -> None:
        """Publish records to the persist queues in turn, with confirms and without the platform's validation."""
        with self._channel() as channel:
            channel.confirm_delivery()
            for number, body in enumerate(bodies):
                properties = pika.BasicProperties(delivery_mode=2)
                channel.basic_publish("headrace.events", QUEUES[number % len(QUEUES)], body, properties, mandatory=True)

    def delete_queue(self, name: str) -> None:
        """Delete a queue with its messages."""
        with self._channel() as channel:
            channel.queue_delete(name)

    def has_queue(self, name: str) -> bool:
        """Whether the broker has such a queue."""
        return self._depth(name) is not None

    def _count(self, url: str) -> int:
        names: Any = [
            "ApproximateNumberOfMessages",
            "ApproximateNumberOfMessagesNotVisible",
            "ApproximateNumberOfMessagesDelayed",
        ]
        found = self._sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return sum(int(value) for value in found.values())

    def _persist(self) -> int:
        """The messages in the persist queues of all brokers."""
        brokers = range(len(self._services.amqp_urls))
        return sum(self._depth(queue, broker) or 0 for broker in brokers for queue in QUEUES)

    def _depth(self, queue: str, broker: int = 0) -> int | None:
        """The messages that are ready; None without such a queue."""
        with self._channel(broker) as channel:
            try:
                return int(channel.queue_declare(queue, passive=True).method.message_count)
            except ChannelClosedByBroker:
                return None

    @contextmanager
    def _channel(self, broker: int = 0) -> Iterator[Any]:
        parameters = pika.URLParameters(self._services.amqp_urls[broker])
        parameters.socket_timeout = parameters.stack_timeout = 3
        with pika.BlockingConnection(parameters) as connection:
            yield connection.channel()


def _dead_letter(message: Any) -> DeadLetter:
    attributes = {name: value.get("StringValue", "") for name, value in message.get("MessageAttributes", {}).items()}
    body: bytes = message["Body"].encode()
    if attributes.get("encoding") == "base64":
        try:
            body = base64.b64decode(body, validate=True)
        except ValueError:
            return DeadLetter(body, attributes.get("reason", "not_base64"))
    return DeadLetter(body, attributes.get("reason", ""))
