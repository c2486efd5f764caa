"""What read_ski asks about lift rides, and what the write path asks and notifies."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headrace.bootstrap.shared import cache, clock, dynamodb, impatient_dynamodb, range_reader

if TYPE_CHECKING:
    from headrace.streams.ski.gate import SeasonGate
    from headrace.streams.ski.hook import RideHook
    from headrace.streams.ski.resorts_dynamodb import DynamoResorts
    from headrace.streams.ski.routes import SkiServices


@functools.cache
def ski_services() -> SkiServices:
    """Skiers, resorts and the counts of a resort's day."""
    from headrace.api.statistics import RequestTimes
    from headrace.runtime.settings import table_settings
    from headrace.streams.ski.day_counts_redis import RedisDayCounts
    from headrace.streams.ski.resort_days import ResortDays
    from headrace.streams.ski.routes import SkiServices
    from headrace.streams.ski.skiers import Skiers
    from headrace.streams.ski.stream import SKI

    table = table_settings(SKI).table
    days = ResortDays(range_reader(), table, resorts(), RedisDayCounts(cache()), clock())
    return SkiServices(Skiers(range_reader(), table, clock()), days, resorts(), RequestTimes(cache()), clock())


@functools.cache
def ride_hook() -> RideHook:
    """Counts rides that are stored."""
    from headrace.streams.ski.day_counts_redis import RedisDayCounts
    from headrace.streams.ski.hook import RideHook

    return RideHook(RedisDayCounts(cache()), resorts(), clock())


@functools.cache
def ride_gate() -> SeasonGate:
    """Refuses rides of a season that their resort does not have."""
    from headrace.streams.ski.gate import SeasonGate

    return SeasonGate(impatient_resorts)


@functools.cache
def resorts() -> DynamoResorts:
    """The resorts and their seasons."""
    from headrace.runtime.settings import ResortSettings
    from headrace.streams.ski.resorts_dynamodb import DynamoResorts

    return DynamoResorts(dynamodb(), ResortSettings.read().resorts_table)


@functools.cache
def impatient_resorts() -> DynamoResorts:
    """The same, for requests that must not wait."""
    from headrace.runtime.settings import ResortSettings
    from headrace.streams.ski.resorts_dynamodb import DynamoResorts

    return DynamoResorts(impatient_dynamodb(), ResortSettings.read().resorts_table)
