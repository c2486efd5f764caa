"""Builds the path of events from clients to the broker."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headrace.api.rates.rate_limiter import RateLimiter
from headrace.core.sender import HashAddress, without_hash
from headrace.delivery.acceptor import Acceptor, Gates
from headrace.delivery.backlog import SharedWaits
from headrace.delivery.backlog_limit import BacklogLimit
from headrace.queues.rabbitmq.publisher import GuardedPublisher, RabbitPublisher
from headrace.runtime.breaker import BreakerRule
from headrace.runtime.settings import (
    BrokerSettings,
    RateSettings,
    RoomSettings,
)
from headrace.services.requests import rate_limiter
from headrace.services.rooms import impatient_rooms
from headrace.services.shared import broker_settings, clock, publish_breaker, retry_lane, secrets, separate_cache
from headrace.stage.chosen import gates_of
from headrace.stage.registry import STREAMS, hash_address
from headrace.streams.chat.messages.gate import RoomGate
from headrace.streams.chat.stream import MESSAGE

if TYPE_CHECKING:
    from headrace.streams.chat.live.frames import Sending


@functools.cache
def frame_sending() -> Sending:
    """Accepts the messages of WebSocket frames, and passes signals on."""
    # Imported here: functions of the HTTP API need none of it.
    from headrace.streams.chat.live.frames import Sending

    limiter = rate_limiter()
    sending = acceptor(gates(), limiter, backlog=backlog_limit())
    return Sending(STREAMS[MESSAGE], sending, room_gate(), publisher().live_publisher(), limiter)


@functools.cache
def http_acceptor() -> Acceptor:
    """Accepts the events of HTTP requests, of every stream."""
    return acceptor(gates(), rate_limiter(), hash_address() or without_hash, backlog_limit())


def gates() -> Gates:
    """Decide which events may be written, by their kinds."""
    return functools.cache(lambda kind: (*([room_gate()] if kind == MESSAGE else ()), *gates_of(kind)))


@functools.cache
def room_gate() -> RoomGate:
    """Decides who may write in a room. Events that cannot be checked now are checked before they are stored."""
    return RoomGate(*impatient_rooms(), by_first_message=RoomSettings.read().rooms_by_first_message)


@functools.cache
def backlog_limit() -> BacklogLimit | None:
    """Refuses events of streams with a backlog; ``None`` if there is no limit."""
    limit = RateSettings.read().backlog_seconds
    waits = SharedWaits(separate_cache(), clock())
    return BacklogLimit(waits, BrokerSettings.read().persist_queues, limit) if limit else None


def acceptor(
    gates: Gates | None = None,
    limiter: RateLimiter | None = None,
    hash_address: HashAddress = without_hash,
    backlog: BacklogLimit | None = None,
) -> Acceptor:
    """Accepts events; ``gates`` refuse those that their sender may not write. Without them, all are written."""
    guarded = GuardedPublisher(publisher(), BreakerRule(on_state=publish_breaker))
    queues = BrokerSettings.read().persist_queues
    return Acceptor(guarded, retry_lane(), queues, clock(), gates, limiter, hash_address, backlog)


@functools.cache
def publisher() -> RabbitPublisher:
    """Has the environment's one connection to a broker."""
    return RabbitPublisher(broker_settings(), secrets())
