"""Builds what persist_events needs, once per environment and on first use."""

from __future__ import annotations

import functools

from headrace.analytics.late_events import LateEvents
from headrace.bootstrap.ski import ride_hook
from headrace.core.times import SystemClock
from headrace.listening import live_listener
from headrace.operations.breaker_status import BreakerStatus
from headrace.persist.persister import Persister
from headrace.queues.sqs.retry_queue import SqsRetryLane
from headrace.rights import memberships, rooms
from headrace.runtime.aws import client
from headrace.runtime.settings import (
    CacheSettings,
    EnvironmentSettings,
    PersistSettings,
    RoomSettings,
    SettleSettings,
    table_settings,
)
from headrace.storage.breaker import GuardedStore
from headrace.storage.cache import Cache
from headrace.storage.dynamodb.batch_writer import DynamoStore
from headrace.storage.redis import RedisCache
from headrace.streams.chat.activity import UPDATES_AT_ONCE, ActivityHook, DynamoRoomActivity
from headrace.streams.chat.newest_page_cache import NewestPageHook
from headrace.streams.chat.write_rights import CheckedStore
from headrace.streams.registry import STREAMS, StreamHooks
from headrace.streams.ski.stream import SKI


@functools.cache
def persister() -> Persister:
    """Stores the records of both lanes."""
    settings = PersistSettings.read()
    cache = RedisCache.of(CacheSettings.read())
    store = DynamoStore(settings.persist_parallel_writes, settings.persist_retry_seconds)
    guarded = GuardedStore(store, settings, BreakerStatus(EnvironmentSettings.read()))
    return Persister(
        CheckedStore(guarded, rooms(), memberships()),
        SqsRetryLane(settings.retry_queue_url),
        {name: table_settings(each) for name, each in STREAMS.items()},
        SystemClock(),
        settings.retry_first_pause_seconds,
        settings.retry_visibility_seconds,
        # Last, since what it could not do comes again: no live copy waits for that.
        after=(
            StreamHooks({SKI.name: ride_hook}),
            NewestPageHook(cache),
            live_listener(cache),
            late_events(cache),
            last_activity(),
        ),
    )


def late_events(cache: Cache) -> LateEvents:
    """Ends the generations of the slots that late events belong to."""
    return LateEvents(cache, SystemClock(), SettleSettings.read().analytics_settle_seconds)


def last_activity() -> ActivityHook:
    """Keeps when something was last said in each room."""
    dynamodb = client("dynamodb", attempts=1, connections=UPDATES_AT_ONCE)
    return ActivityHook(DynamoRoomActivity(dynamodb, RoomSettings.read().rooms_table), rooms(), SystemClock())
