"""Builds the path of events from the queues to the tables."""

from __future__ import annotations

import functools

from headrace.analytics.generations import SETTLE_SECONDS, LateEvents
from headrace.bootstrap.shared import (
    attachments,
    breaker_status,
    cache,
    clock,
    dynamodb,
    person_hashes,
    retry_lane,
    secrets,
    separate_cache,
)
from headrace.core.errors import BrokerUnavailable
from headrace.delivery.backlog import BacklogReports, SharedWaits
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import RowWriter, built_later
from headrace.erasure.dynamodb import DynamoErasures
from headrace.erasure.screen import ErasureScreen
from headrace.live.connections import SubscriberHints
from headrace.live.dynamodb import DynamoConnections
from headrace.queues.brokers import beginning_at
from headrace.queues.ports import LivePublisher, QueueDepth
from headrace.runtime.aws import client
from headrace.runtime.breaker import BreakerRule
from headrace.runtime.settings import (
    BrokerSettings,
    ConnectionSettings,
    ErasureSettings,
    PersistSettings,
    RateSettings,
    ResortSettings,
    RoomSettings,
    table_settings,
)
from headrace.storage.dynamodb.batch_writer import DynamoStore, writing_client
from headrace.storage.ports import GuardedStore
from headrace.streams.ads.dynamodb import DynamoStubs
from headrace.streams.ads.stream import ADS
from headrace.streams.ads.take_back import KnownClicks
from headrace.streams.chat.attachments.hooks import KeepHook
from headrace.streams.chat.change import KIND as CHANGE
from headrace.streams.chat.changes.dynamodb import DynamoChanges
from headrace.streams.chat.changes.gate import ChangeRights
from headrace.streams.chat.changes.hooks import ChangeCheck, ChangeHook, KnownMessages
from headrace.streams.chat.messages.gate import MessageCheck
from headrace.streams.chat.messages.hooks import UPDATES_AT_ONCE, ActivityHook, LiveHook
from headrace.streams.chat.messages.redis import RedisRoomLog
from headrace.streams.chat.messages.room_log import RoomLog
from headrace.streams.chat.messages.shards import MessageStore
from headrace.streams.chat.rooms.dynamodb.rooms import DynamoMemberships, DynamoRooms
from headrace.streams.chat.rooms.rooms import CachedRooms
from headrace.streams.chat.stream import CHAT, MESSAGE
from headrace.streams.registry import STREAMS
from headrace.streams.ski.day_counts import RideHook
from headrace.streams.ski.dynamodb import DynamoResorts
from headrace.streams.ski.redis import RedisDayCounts
from headrace.streams.ski.stream import SKI

LOOK_SECONDS = 0.5
"""The timeout of one lookup of subscribers: the records are acknowledged only after it."""
DEPTH_SECONDS = 1.0
"""The timeout of a connection that asks for the depth of a queue."""


@functools.cache
def persister() -> Persister:
    """Stores the records of both lanes."""
    settings, room_settings = PersistSettings.read(), RoomSettings.read()
    rooms = CachedRooms(DynamoRooms(dynamodb(), room_settings.rooms_table))
    memberships = DynamoMemberships(dynamodb(), room_settings.memberships_table)
    parallel = settings.persist_parallel_writes
    store = DynamoStore(writing_client(parallel), parallel)
    guarded = MessageStore(GuardedStore(store, BreakerRule(on_state=breaker_status().seen)))
    tables = {name: table_settings(each) for name, each in STREAMS.items()}
    log, by_first_message = RedisRoomLog(cache()), room_settings.rooms_by_first_message
    changes = DynamoChanges(dynamodb(), tables[CHAT.name].table)
    messages = MessageCheck(rooms, memberships, clock(), log, by_first_message=by_first_message)
    check = ChangeCheck(ChangeRights(changes, rooms, memberships), rooms, clock())
    before = ((MESSAGE, messages.before_store), (CHANGE, check.before_store))
    known = (
        (MESSAGE, KnownMessages(changes, attachments, clock()).known),
        (ADS.name, KnownClicks(DynamoStubs(dynamodb(), tables[ADS.name].table)).known),
    )
    activity = DynamoRooms(client("dynamodb", attempts=1, connections=UPDATES_AT_ONCE), room_settings.rooms_table)
    live = live_hook(log, changes)
    # The last hooks fail when more is to be done later; live copies and marks of late events must not wait for it.
    after = (
        (MESSAGE, live.after_store),
        (CHANGE, ChangeHook(changes, attachments, live, rooms, clock()).after_store),
        (SKI.name, built_later(lambda: ride_hook().after_store)),
        (MESSAGE, KeepHook(attachments).after_store),
        (MESSAGE, LateEvents(CHAT, cache(), clock(), SETTLE_SECONDS).after_store),
        (ADS.name, LateEvents(ADS, cache(), clock(), SETTLE_SECONDS).after_store),
        (MESSAGE, ActivityHook(activity, rooms, changes.set_expiry, clock()).after_store),
    )
    erasing = ErasureSettings.read()
    erasures = DynamoErasures(dynamodb(), erasing.erasures_table)
    screen = ErasureScreen(erasures, person_hashes(), clock(), erasing.erasure_age_seconds)
    writer = RowWriter(guarded, tables, after, before, screen, known)
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


def live_hook(log: RoomLog, changes: DynamoChanges) -> LiveHook:
    """Appends to the logs of rooms, and publishes live copies."""
    impatient = client("dynamodb", timeout=LOOK_SECONDS, attempts=1)
    hints = SubscriberHints(cache(), DynamoConnections(impatient, ConnectionSettings.read().connections_table))
    return LiveHook(log, hints, live_publisher, clock(), changes.set_stored)


@functools.cache
def live_publisher() -> LivePublisher:
    """Publishes to the live queues."""
    # Imported here: pika takes 10 ms of CPU, and only environments that publish live copies need it.
    from headrace.queues.rabbitmq.publisher import ChannelKeeper, LiveChannel, RabbitLivePublisher, SpreadLivePublisher

    settings = BrokerSettings.read()
    orders = [beginning_at(settings, number) for number in range(len(settings.broker_endpoints))]
    return SpreadLivePublisher([RabbitLivePublisher(ChannelKeeper(LiveChannel, each, secrets())) for each in orders])


def ride_hook() -> RideHook:
    """Counts rides that are stored."""
    resorts = DynamoResorts(dynamodb(), ResortSettings.read().resorts_table)
    return RideHook(RedisDayCounts(separate_cache()), resorts, clock())
