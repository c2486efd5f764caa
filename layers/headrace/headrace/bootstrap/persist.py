"""The path of events from the queues to the tables."""

from __future__ import annotations

import functools

from headrace.analytics.late_events import LateEvents
from headrace.bootstrap.chat import memberships, rooms
from headrace.bootstrap.live import live_hook
from headrace.bootstrap.shared import breaker_status, cache, clock
from headrace.bootstrap.ski import ride_hook
from headrace.persist.persister import Persister
from headrace.queues.sqs.retry_queue import SqsRetryLane
from headrace.runtime.aws import client
from headrace.runtime.settings import PersistSettings, RoomSettings, SettleSettings, table_settings
from headrace.storage.breaker import GuardedStore
from headrace.storage.dynamodb.batch_writer import DynamoStore
from headrace.streams.chat.activity import DynamoRoomActivity
from headrace.streams.chat.gate import CheckedStore
from headrace.streams.chat.hook import UPDATES_AT_ONCE, ActivityHook, NewestPageHook
from headrace.streams.registry import STREAMS, StreamHooks


@functools.cache
def persister() -> Persister:
    """Stores the records of both lanes."""
    settings = PersistSettings.read()
    store = DynamoStore(settings.persist_parallel_writes, settings.persist_retry_seconds)
    return Persister(
        CheckedStore(GuardedStore(store, settings, breaker_status()), rooms(), memberships()),
        SqsRetryLane(settings.retry_queue_url),
        {name: table_settings(each) for name, each in STREAMS.items()},
        clock(),
        settings.retry_first_pause_seconds,
        # The activity hook is the last: what it cannot do comes again, and no live copy waits for that.
        after=(
            StreamHooks({"ski": ride_hook}),
            NewestPageHook(cache()),
            live_hook(),
            LateEvents(cache(), clock(), SettleSettings.read().analytics_settle_seconds),
            activity_hook(),
        ),
    )


def activity_hook() -> ActivityHook:
    """Keeps when something was last said in each room."""
    impatient = client("dynamodb", attempts=1, connections=UPDATES_AT_ONCE)
    return ActivityHook(DynamoRoomActivity(impatient, RoomSettings.read().rooms_table), rooms(), clock())
