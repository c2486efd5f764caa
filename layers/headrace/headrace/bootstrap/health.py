"""Builds the health checks and the status of a stage. Each function imports what its own needs: pika takes 10 ms."""

from __future__ import annotations

import functools
from itertools import chain

from headrace.health.parts import Parts
from headrace.queues import names
from headrace.runtime.aws import call
from headrace.runtime.secrets import Secrets
from headrace.runtime.setting_forms import Brokers, TableName
from headrace.runtime.settings import BrokerSettings, CacheSettings, DeadLaneSettings, RetryLaneSettings
from headrace.services.shared import clock, impatient, separate_cache
from headrace.stage.chosen import status_readers
from headrace.storage import redis

CONNECT_SECONDS = 1.0
"""The timeout of the status' connection to the broker; the whole response has more time."""


class HealthSettings(RetryLaneSettings, CacheSettings):
    """For check_health, which sends each dependency one cheap request."""

    broker_endpoints: Brokers
    chat_messages_table: TableName
    """Table of the stream ``chat``."""


@functools.cache
def health() -> Parts:
    """The health checks: one cheap request to each dependency."""
    from headrace.health.health import CHECK_SECONDS, KEPT_SECONDS, any_port_open

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
def status() -> Parts:
    """The status of every dependency; no call takes longer than a second."""
    from headrace.health.breaker_status import read_breaker_status
    from headrace.health.status import ASK_SECONDS, KEPT_SECONDS
    from headrace.queues.dead_lane import queue_counts
    from headrace.queues.rabbitmq.topology import queue_depths

    settings = BrokerSettings.read()
    retry_url, dead_url = RetryLaneSettings.read().retry_queue_url, DeadLaneSettings.read().dead_letter_queue_url
    fast_secrets, sqs = Secrets(lambda: impatient("secretsmanager")), impatient("sqs")
    queues = [*names.persist_queues(settings.persist_queues), names.PARKED_QUEUE]
    return Parts(
        {
            "queues": lambda: queue_depths(settings, fast_secrets, queues, CONNECT_SECONDS),
            "retry": lambda: queue_counts(sqs, retry_url),
            "dead": lambda: queue_counts(sqs, dead_url),
            "breakers": lambda: read_breaker_status(separate_cache, clock()),
            **status_readers(),
        },
        clock(),
        ASK_SECONDS,
        KEPT_SECONDS,
    )
