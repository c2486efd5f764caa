"""Builds what read_ski needs, once per environment and on first use."""

from __future__ import annotations

import functools

from headrace.api.statistics import RequestTimes
from headrace.core.times import SystemClock
from headrace.runtime.aws import client
from headrace.runtime.settings import SkiSettings, table_settings
from headrace.storage.dynamodb.range_reader import DynamoReader
from headrace.storage.redis import RedisCache
from headrace.streams.ski.day_counts_redis import RedisDayCounts
from headrace.streams.ski.resort_days import ResortDays
from headrace.streams.ski.resorts_dynamodb import DynamoResorts
from headrace.streams.ski.routes import SkiRoutes, SkiServices
from headrace.streams.ski.skiers import Skiers
from headrace.streams.ski.stream import SKI


@functools.cache
def ski_routes() -> SkiRoutes:
    """Answers requests about rides, resorts and seasons."""
    settings = SkiSettings.read()
    table = table_settings(SKI).table
    clock = SystemClock()
    dynamodb = client("dynamodb")
    reader = DynamoReader(dynamodb)
    resorts = DynamoResorts(dynamodb, settings.resorts_table)
    cache = RedisCache.of(settings)
    days = ResortDays(reader, table, resorts, RedisDayCounts(cache), clock)
    return SkiRoutes(
        SkiServices(Skiers(reader, table, clock), days, resorts, RequestTimes(cache)), clock, settings.scope_prefix
    )
