"""Builds the path of events from the queues to the tables."""

from __future__ import annotations

import functools

from headrace.core.errors import BrokerUnavailable
from headrace.delivery.backlog import BacklogReports, SharedWaits
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import ErasureScreen, RowWriter
from headrace.queues.ports import QueueDepth
from headrace.runtime.aws import client
from headrace.runtime.breaker import BreakerRule
from headrace.runtime.settings import (
    BrokerSettings,
    PersistSettings,
    RateSettings,
    RoomSettings,
    table_settings,
)
from headrace.services.live import live_hook
from headrace.services.messages import message_table, room_log
from headrace.services.rooms import memberships, rooms
from headrace.services.shared import clock, publish_breaker, retry_lane, secrets, separate_cache
from headrace.stage.chosen import FEATURES, made, parts
from headrace.stage.registry import STREAMS, erased, late
from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
from headrace.storage.ports import GuardedStore
from headrace.streams.chat.messages.check import MessageCheck
from headrace.streams.chat.messages.dynamodb import MessageStore
from headrace.streams.chat.messages.hooks import UPDATES_AT_ONCE, ActivityHook
from headrace.streams.chat.messages.known import KnownMessages
from headrace.streams.chat.rooms.dynamodb import RoomTable
from headrace.streams.chat.stream import MESSAGE

DEPTH_SECONDS = 1.0
"""The timeout of a connection that asks for the depth of a queue."""


@functools.cache
def persister() -> Persister:
    """Stores the records of both lanes."""
    settings, room_settings = PersistSettings.read(), RoomSettings.read()
    parallel = settings.persist_parallel_writes
    store = DynamoStore(writing_client(parallel), parallel)
    guarded = MessageStore(GuardedStore(store, BreakerRule(on_state=publish_breaker)))
    tables = {name: table_settings(each) for name, each in STREAMS.items()}
    by_first_message, messages = room_settings.rooms_by_first_message, message_table()
    check = MessageCheck(rooms(), memberships(), clock(), room_log(), by_first_message=by_first_message)
    completes = functools.partial(parts, "complete", FEATURES)
    known = ((MESSAGE, KnownMessages(messages, completes).known), *made("known"))
    activity = RoomTable(client("dynamodb", attempts=1, connections=UPDATES_AT_ONCE), room_settings.rooms_table)
    # The last hooks fail when more is to be done later; live copies and marks of late events must not wait for it.
    after = (
        (MESSAGE, live_hook().after_store),
        *made("after"),
        *((each.name, late(each)) for each in STREAMS.values() if each.analytics_dimensions),
        (MESSAGE, ActivityHook(activity, rooms(), messages.set_expiry, clock()).after_store),
    )
    screen = ErasureScreen(erased, clock(), settings.erasure_age_seconds)
    writer = RowWriter(guarded, tables, after, ((MESSAGE, check.before_store), *made("before")), screen, known)
    return Persister(writer, retry_lane(), clock(), settings.retry_first_pause_seconds, backlog=backlog_reports())


def backlog_reports() -> BacklogReports | None:
    """Tells senders how long events wait; ``None`` if there is no limit on that."""
    if not RateSettings.read().backlog_seconds:
        return None
    return BacklogReports(SharedWaits(separate_cache(), clock()), _waiting)


def _waiting(queue: str) -> int:
    """The records that wait in ``queue``, of the broker where most do; raises BrokerUnavailable."""
    # Imported here: pika takes 10 ms of CPU, and only environments whose events are late need it.
    from headrace.queues.rabbitmq.topology import queue_depths

    depths = queue_depths(BrokerSettings.read(), secrets(), [queue], DEPTH_SECONDS)
    known = [depth.ready for depth in depths.values() if isinstance(depth, QueueDepth)]
    if known:
        return max(known)
    raise BrokerUnavailable(f"the depth of {queue} is not known: {'; '.join(map(str, depths.values()))}")
