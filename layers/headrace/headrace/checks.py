"""The checks behind ``GET /health``: one cheap question to each part."""

from __future__ import annotations

import functools

from headrace.operations.health import CHECK_SECONDS, Health, any_port_open
from headrace.runtime.aws import client
from headrace.runtime.settings import HealthSettings
from headrace.storage import redis


@functools.cache
def health() -> Health:
    """Health of the parts that the settings name."""
    settings = HealthSettings.read()
    table = client("dynamodb", timeout=CHECK_SECONDS, attempts=1)
    queue = client("sqs", timeout=CHECK_SECONDS, attempts=1)
    cached = redis.connect(settings, CHECK_SECONDS / 2)
    return Health(
        {
            "broker": lambda: any_port_open(settings.broker_endpoints),
            "retryLane": lambda: queue.get_queue_attributes(
                QueueUrl=settings.retry_queue_url, AttributeNames=["ApproximateNumberOfMessages"]
            ),
            "table": lambda: table.describe_table(TableName=settings.chat_messages_table),
            "cache": cached.ping,
        }
    )
