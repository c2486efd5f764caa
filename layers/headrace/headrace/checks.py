"""The checks behind ``GET /health``: one cheap question to each part."""

from __future__ import annotations

import functools

from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from headrace.aws import client
from headrace.health import CHECK_SECONDS, Health, any_port_open
from headrace.settings import HealthSettings


@functools.cache
def health() -> Health:
    """Health of the parts that the settings name."""
    settings = HealthSettings.read()
    table = client("dynamodb", timeout=CHECK_SECONDS, attempts=1)
    queue = client("sqs", timeout=CHECK_SECONDS, attempts=1)
    cache = _cache(settings)
    return Health(
        {
            "broker": lambda: any_port_open(settings.broker_endpoints),
            "retryLane": lambda: queue.get_queue_attributes(
                QueueUrl=settings.retry_queue_url, AttributeNames=["ApproximateNumberOfMessages"]
            ),
            "table": lambda: table.describe_table(TableName=settings.chat_messages_table),
            "cache": cache.ping,
        }
    )


def _cache(settings: HealthSettings) -> Redis:
    host, _, port = settings.cache_endpoint.rpartition(":")
    # The library's own retries would take seconds when the cache is away (design, fault 17).
    return Redis(
        host=host,
        port=int(port),
        ssl=settings.cache_tls,
        socket_timeout=CHECK_SECONDS / 2,
        socket_connect_timeout=CHECK_SECONDS / 2,
        retry=Retry(NoBackoff(), 0),
    )
