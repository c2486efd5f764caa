"""Builds what the write path asks and tells about rides, once per environment and on first use."""

from __future__ import annotations

import functools

from headrace.core.times import SystemClock
from headrace.runtime.aws import client
from headrace.runtime.settings import CacheSettings, ResortSettings
from headrace.storage.redis import RedisCache
from headrace.streams.ski.day_counts_redis import RedisDayCounts
from headrace.streams.ski.gate import SeasonGate
from headrace.streams.ski.hook import RideHook
from headrace.streams.ski.resorts_dynamodb import DynamoResorts


@functools.cache
def listener() -> RideHook:
    """Tells the counts of rides that are stored."""
    resorts = DynamoResorts(client("dynamodb"), ResortSettings.read().resorts_table)
    return RideHook(RedisDayCounts(RedisCache.of(CacheSettings.read())), resorts, SystemClock())


@functools.cache
def gate() -> SeasonGate:
    """Lets rides in, for requests that must not wait."""
    return SeasonGate(_hasty_resorts)


@functools.cache
def _hasty_resorts() -> DynamoResorts:
    return DynamoResorts(client("dynamodb", timeout=1.0, attempts=1), ResortSettings.read().resorts_table)
