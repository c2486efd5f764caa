"""Builds the operators' services: health, status, probes, dead letters, the parking queue, the topology.

Each function imports what its service needs: streams take 10 ms of CPU, pika 10, and no environment has two services.
"""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING

from headrace.queues import names
from headrace.queues.brokers import at_broker, each_broker
from headrace.runtime.aws import call, client
from headrace.runtime.secrets import Secrets
from headrace.runtime.settings import (
    BrokerSettings,
    BrokerUsersSettings,
    DeadLaneSettings,
    HealthSettings,
    RetryLaneSettings,
    table_settings,
)
from headrace.services.shared import clock, impatient, retry_lane, secrets, separate_cache
from headrace.storage import redis

if TYPE_CHECKING:
    from headrace.operations.connection_routes import UserConnections
    from headrace.operations.dead_letters import DeadLetters
    from headrace.operations.parts import Parts
    from headrace.operations.probes import Prober, ProbeReader
    from headrace.queues.rabbitmq.parked import ParkingQueues
    from headrace.queues.rabbitmq.topology import Report

CONNECT_SECONDS = 1.0
"""The timeout of the status' connection to the broker; the whole response has more time."""


@functools.cache
def health() -> Parts:
    """The health checks: one cheap request to each dependency."""
    from headrace.operations.health import CHECK_SECONDS, KEPT_SECONDS, any_port_open
    from headrace.operations.parts import Parts

    settings = HealthSettings.read()
    dynamodb, sqs, cache = impatient("dynamodb"), impatient("sqs"), redis.connect(settings, CHECK_SECONDS / 2)
    depth = {"QueueUrl": settings.retry_queue_url, "AttributeNames": ["ApproximateNumberOfMessages"]}
    return Parts(
        {
            "broker": lambda: any_port_open(list(chain(*settings.broker_endpoints))),
            "retryLane": lambda: call(sqs.get_queue_attributes, **depth),
            "table": lambda: call(dynamodb.describe_table, TableName=settings.chat_messages_table),
            "cache": cache.ping,
        },
        clock(),
        CHECK_SECONDS,
        KEPT_SECONDS,
    )


@functools.cache
def dead_letters() -> DeadLetters:
    """The dead letters of every stream."""
    from headrace.operations.dead_letter_texts import LetterBodies
    from headrace.operations.dead_letters import DeadLetters
    from headrace.queues.sqs import TIMEOUT, SqsDeadLane
    from headrace.stage.registry import STREAMS, screens

    dead_lane = SqsDeadLane(DeadLaneSettings.read().dead_letter_queue_url, client("sqs", timeout=TIMEOUT))
    tables = {name: table_settings(stream) for name, stream in STREAMS.items()}
    return DeadLetters(dead_lane, retry_lane(), tables, clock(), LetterBodies(screens()))


@functools.cache
def user_connections() -> UserConnections:
    """The connections of users."""
    from headrace.live.management import ApiGatewayConnections
    from headrace.operations.connection_routes import AT_ONCE, UserConnections
    from headrace.runtime.threads import Parallel
    from headrace.services.connections import connections

    manager = ApiGatewayConnections(client("apigatewaymanagementapi", connections=AT_ONCE))
    return UserConnections(connections(), manager, Parallel(AT_ONCE, "connections"))


@functools.cache
def parking_queues() -> ParkingQueues:
    from headrace.queues.rabbitmq.parked import ParkingQueue, ParkingQueues

    brokers = each_broker(BrokerSettings.read())
    return ParkingQueues([ParkingQueue(each, secrets(), retry_lane()) for each in brokers])


@functools.cache
def probe_reader() -> ProbeReader:
    """Reads the probes that were stored; a read gives up after a second."""
    from headrace.operations.probes import ProbeReader
    from headrace.storage.dynamodb.readers import DynamoReader
    from headrace.streams.probe import PROBE

    return ProbeReader(DynamoReader(impatient("dynamodb")), table_settings(PROBE).table)


@functools.cache
def prober() -> Prober:
    """Sends and checks probes. Its publishers have no breaker: probes are sent to a failing broker too."""
    from headrace.operations.probes import Prober
    from headrace.queues.rabbitmq.publisher import RabbitPublisher

    settings = BrokerSettings.read()
    publishers = [RabbitPublisher(each, secrets()) for each in each_broker(settings)]
    return Prober(publishers, probe_reader(), names.persist_queues(settings.persist_queues), clock())


def declare_topology(seconds: float) -> Report:
    """Declare each broker's exchanges, queues and users. A setting that is missing fails what needs it."""
    from headrace.operations.topology import MOVING_SECONDS, declare_all, declare_each
    from headrace.queues.rabbitmq.former_queues import empty_former_queues
    from headrace.queues.rabbitmq.topology import declare
    from headrace.queues.rabbitmq.users import ensure_users

    brokers = each_broker(BrokerSettings.read())

    def declare_one(number: int, left: float) -> Report:
        def administrator() -> BrokerUsersSettings:
            return each_broker(BrokerUsersSettings.read())[number]

        return declare_all(
            lambda left: declare(brokers[number], secrets(), seconds=left),
            lambda left: ensure_users(administrator(), secrets(), seconds=left),
            lambda: empty_former_queues(administrator(), secrets(), MOVING_SECONDS / len(brokers)),
            left,
        )

    return declare_each([functools.partial(declare_one, number) for number in range(len(brokers))], seconds)


@functools.cache
def status() -> Parts:
    """The status of every dependency; no call takes longer than a second."""
    from headrace.operations.breaker_status import read_breaker_status
    from headrace.operations.parts import Parts
    from headrace.operations.status import ASK_SECONDS, KEPT_SECONDS
    from headrace.queues.rabbitmq.topology import queue_depths
    from headrace.queues.sqs import queue_counts

    settings = BrokerSettings.read()
    retry_url, dead_url = RetryLaneSettings.read().retry_queue_url, DeadLaneSettings.read().dead_letter_queue_url
    fast_secrets, sqs, probes = Secrets(lambda: impatient("secretsmanager")), impatient("sqs"), probe_reader()
    queues = names.persist_queues(settings.persist_queues)
    brokers = range(1, len(settings.broker_endpoints) + 1)
    probed = [at_broker(queue, broker) for broker in brokers for queue in queues]
    readers = ThreadPoolExecutor(len(probed), "probes")
    return Parts(
        {
            "queues": lambda: queue_depths(settings, fast_secrets, [*queues, names.PARKED_QUEUE], CONNECT_SECONDS),
            "retry": lambda: queue_counts(sqs, retry_url),
            "dead": lambda: queue_counts(sqs, dead_url),
            "breakers": lambda: read_breaker_status(separate_cache, clock()),
            "probes": lambda: dict(zip(probed, readers.map(probes.newest, probed), strict=True)),
        },
        clock(),
        ASK_SECONDS,
        KEPT_SECONDS,
    )
