"""What the operators' functions need: status, health, probes, dead letters, the parking queue, the topology."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from headrace.bootstrap.shared import clock, impatient_dynamodb, secrets

if TYPE_CHECKING:
    from headrace.operations.dead_letters import DeadLetters
    from headrace.operations.health import Health
    from headrace.operations.probes import Prober, ProbeReader
    from headrace.operations.status import Status
    from headrace.queues.rabbitmq.parked import ParkingQueue
    from headrace.queues.rabbitmq.topology import Report

CALL_SECONDS = 1.0
"""For one call to AWS, or one connection to the broker, of a status or a health check: less than a whole answer has."""


@functools.cache
def dead_letters() -> DeadLetters:
    """The dead letters of every stream."""
    from headrace.operations.dead_letters import DeadLetters
    from headrace.queues.sqs.dead_letter_queue import SqsDeadLane
    from headrace.queues.sqs.retry_queue import SqsRetryLane
    from headrace.runtime.settings import DeadLetterSettings, table_settings
    from headrace.streams.registry import STREAMS

    settings = DeadLetterSettings.read()
    return DeadLetters(
        SqsDeadLane(settings.dead_letter_queue_url),
        SqsRetryLane(settings.retry_queue_url),
        {name: table_settings(stream) for name, stream in STREAMS.items()},
        clock(),
    )


@functools.cache
def parking_queue() -> ParkingQueue:
    """The broker's parking queue."""
    from headrace.queues.rabbitmq.parked import ParkingQueue
    from headrace.queues.sqs.retry_queue import SqsRetryLane
    from headrace.runtime.settings import ParkedSettings

    settings = ParkedSettings.read()
    return ParkingQueue(settings, secrets(), SqsRetryLane(settings.retry_queue_url))


@functools.cache
def status() -> Status:
    """The status of every part; no call takes longer than ``CALL_SECONDS``."""
    from concurrent.futures import ThreadPoolExecutor

    from headrace.operations.breaker_status import read_breaker_status
    from headrace.operations.status import Status, StatusProbes
    from headrace.queues import names
    from headrace.queues.rabbitmq.depths import queue_depths
    from headrace.queues.sqs.retry_queue import queue_counts
    from headrace.runtime.aws import client
    from headrace.runtime.secrets import ManagedSecrets
    from headrace.runtime.settings import StatusSettings

    settings = StatusSettings.read()
    impatient_secrets = ManagedSecrets(lambda: client("secretsmanager", timeout=CALL_SECONDS, attempts=1))
    sqs = _impatient_sqs()
    queues = names.persist_queues(settings.persist_queues)
    probes = probe_reader()
    readers = ThreadPoolExecutor(len(queues), "probes")
    return Status(
        StatusProbes(
            queues=lambda: queue_depths(settings, impatient_secrets, [*queues, names.PARKED_QUEUE], CALL_SECONDS),
            retry=lambda: queue_counts(sqs, settings.retry_queue_url),
            dead=lambda: queue_counts(sqs, settings.dead_letter_queue_url),
            breakers=read_breaker_status,
            probes=lambda: dict(zip(queues, readers.map(probes.newest, queues), strict=True)),
        ),
        clock(),
    )


@functools.cache
def health() -> Health:
    """The health checks: one cheap request to each part."""
    from headrace.operations.health import CHECK_SECONDS, Health, any_port_open
    from headrace.runtime.settings import HealthSettings
    from headrace.storage import redis

    settings = HealthSettings.read()
    dynamodb, sqs, cache = impatient_dynamodb(), _impatient_sqs(), redis.connect(settings, CHECK_SECONDS / 2)
    return Health(
        {
            "broker": lambda: any_port_open(settings.broker_endpoints),
            "retryLane": lambda: sqs.get_queue_attributes(
                QueueUrl=settings.retry_queue_url, AttributeNames=["ApproximateNumberOfMessages"]
            ),
            "table": lambda: dynamodb.describe_table(TableName=settings.chat_messages_table),
            "cache": cache.ping,
        }
    )


@functools.cache
def probe_reader() -> ProbeReader:
    """Reads the probes that were stored; a read gives up after a second."""
    from headrace.operations.probes import ProbeReader
    from headrace.runtime.settings import table_settings
    from headrace.storage.dynamodb.range_reader import DynamoReader
    from headrace.streams.probe import PROBE

    return ProbeReader(DynamoReader(impatient_dynamodb()), table_settings(PROBE).table)


@functools.cache
def prober() -> Prober:
    """Sends and checks probes. Its publisher has no breaker: a probe is sent to a broker that fails, too."""
    from headrace.operations.probes import Prober
    from headrace.queues import names
    from headrace.queues.rabbitmq.publisher import RabbitPublisher
    from headrace.runtime.settings import BrokerSettings

    settings = BrokerSettings.read()
    publisher = RabbitPublisher(settings, secrets())
    return Prober(publisher, probe_reader(), names.persist_queues(settings.persist_queues), clock())


def declare_topology(seconds: float) -> Report:
    """Declare the broker's exchanges and queues; wait at most ``seconds`` for a broker that is starting."""
    from headrace.queues.rabbitmq.topology import declare
    from headrace.runtime.settings import TopologySettings

    return declare(TopologySettings.read(), secrets(), seconds=seconds)


@functools.cache
def _impatient_sqs() -> Any:
    from headrace.runtime.aws import client

    return client("sqs", timeout=CALL_SECONDS, attempts=1)
