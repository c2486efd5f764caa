"""Builds the services of read_ski."""

from __future__ import annotations

import functools

from headrace.api.statistics import RequestTimes
from headrace.features.ski.dynamodb import DynamoResorts
from headrace.features.ski.redis import RedisDayCounts
from headrace.features.ski.resort_days import ResortDays
from headrace.features.ski.routes import SkiServices
from headrace.features.ski.stream import SKI
from headrace.runtime.settings import ResortSettings, table_settings
from headrace.runtime.threads import Parallel
from headrace.services.shared import cache, clock, dynamodb, range_reader
from headrace.storage.dynamodb.readers import PARALLEL, DynamoColumns, columns_client


@functools.cache
def ski_services() -> SkiServices:
    """Skiers, resorts and the counts of a resort's day."""
    settings = table_settings(SKI)
    resorts = DynamoResorts(dynamodb(), ResortSettings.read().resorts_table)
    columns = DynamoColumns(columns_client(PARALLEL))
    days = ResortDays(
        columns,
        settings.table,
        resorts,
        RedisDayCounts(cache()),
        clock(),
        parallel=Parallel(PARALLEL, "resort-days"),
        shards=settings.time_shards.read,
    )
    return SkiServices(range_reader(), settings.table, days, resorts, RequestTimes(cache()))
