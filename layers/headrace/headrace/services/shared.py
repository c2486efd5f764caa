"""Builds what several functions use: the clock, the cache, secrets, DynamoDB."""

from __future__ import annotations

import functools
import zlib
from typing import TYPE_CHECKING

from headrace.core.times import Clock, SystemClock
from headrace.queues.brokers import beginning_at
from headrace.runtime.aws import AwsClient, client
from headrace.runtime.secrets import Secrets
from headrace.runtime.settings import (
    BrokerSettings,
    CacheSettings,
    EnvironmentSettings,
    RetryLaneSettings,
)
from headrace.storage.redis import Cache

if TYPE_CHECKING:
    from headrace.health.breaker_status import BreakerStatus
    from headrace.queues.sqs import RetryLane
    from headrace.runtime.breaker import State
    from headrace.storage.dynamodb.readers import DynamoReader


@functools.cache
def clock() -> Clock:
    return SystemClock()


@functools.cache
def cache() -> Cache:
    return separate_cache()


def separate_cache() -> Cache:
    """Another client of the cache: its failures start no cool-down of :func:`cache`, and the reverse."""
    return Cache.of(CacheSettings.read())


def publish_breaker(breaker: str, state: State) -> None:
    """Publish the state of one of this environment's breakers."""
    _breaker_status().seen(breaker, state)


@functools.cache
def _breaker_status() -> BreakerStatus:
    # Imported here: it takes 17 ms of CPU, and few environments have a breaker that opens.
    from headrace.health.breaker_status import BreakerStatus

    return BreakerStatus(EnvironmentSettings.read(), separate_cache, clock())


@functools.cache
def secrets() -> Secrets:
    return Secrets()


def broker_settings() -> BrokerSettings:
    """The brokers, first the one that this environment publishes to."""
    name = EnvironmentSettings.read().aws_lambda_log_stream_name
    return beginning_at(BrokerSettings.read(), zlib.crc32(name.encode()))


@functools.cache
def dynamodb() -> AwsClient:
    return client("dynamodb")


@functools.cache
def impatient(service: str) -> AwsClient:
    """A client of ``service`` for requests that must not wait: one try of at most a second."""
    return client(service, timeout=1.0, attempts=1)


@functools.cache
def retry_lane() -> RetryLane:
    # Imported here: it takes 5 ms of CPU, and few functions send records to it.
    from headrace.queues.sqs import PARALLEL, RetryLane

    return RetryLane(RetryLaneSettings.read().retry_queue_url, client("sqs", connections=PARALLEL))


@functools.cache
def range_reader() -> DynamoReader:
    """Reads ranges of a partition."""
    # Imported here: it takes 3 ms of CPU, and many functions read no ranges.
    from headrace.storage.dynamodb.readers import DynamoReader

    return DynamoReader(dynamodb())
