"""Builds the service of check_health."""

from __future__ import annotations

import functools

from headrace.bootstrap.shared import impatient
from headrace.operations.health import CHECK_SECONDS, Health, any_port_open
from headrace.runtime.aws import call
from headrace.runtime.settings import HealthSettings
from headrace.storage import redis


@functools.cache
def health() -> Health:
    """The health checks: one cheap request to each dependency."""
    settings = HealthSettings.read()
    dynamodb, sqs, cache = impatient("dynamodb"), impatient("sqs"), redis.connect(settings, CHECK_SECONDS / 2)
    return Health(
        {
            "broker": lambda: any_port_open(settings.broker_endpoints),
            "retryLane": lambda: call(
                sqs.get_queue_attributes,
                QueueUrl=settings.retry_queue_url,
                AttributeNames=["ApproximateNumberOfMessages"],
            ),
            "table": lambda: call(dynamodb.describe_table, TableName=settings.chat_messages_table),
            "cache": cache.ping,
        }
    )
