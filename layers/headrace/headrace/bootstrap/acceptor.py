"""Builds the path of events from clients to the broker."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.api.rates.rate_limiter import RateLimiter
from headrace.bootstrap.shared import (
    attachments,
    breaker_status,
    broker_settings,
    clock,
    impatient,
    rate_limiter,
    retry_lane,
    secrets,
    separate_cache,
)
from headrace.core.caller import HashAddress, without_hash
from headrace.core.stream import Gate
from headrace.delivery.acceptor import Acceptor
from headrace.delivery.backlog import BacklogLimit, SharedWaits
from headrace.queues.rabbitmq.publisher import GuardedPublisher, RabbitPublisher
from headrace.runtime.breaker import BreakerRule
from headrace.runtime.settings import (
    AddressSettings,
    BrokerSettings,
    RateSettings,
    ResortSettings,
    RoomSettings,
    table_settings,
)
from headrace.streams.ads.addresses import AddressHasher
from headrace.streams.chat.attachments.gate import AttachmentGate
from headrace.streams.chat.changes.gate import ChangeGate, ChangeRights, ChatGate
from headrace.streams.chat.messages.gate import RoomGate
from headrace.streams.chat.rooms.dynamodb.rooms import DynamoMemberships, DynamoRooms
from headrace.streams.chat.rooms.rooms import CachedRooms
from headrace.streams.chat.stream import CHAT
from headrace.streams.ski.dynamodb import DynamoResorts
from headrace.streams.ski.resorts import SeasonGate

if TYPE_CHECKING:
    from headrace.streams.chat.live.frames import Sending


@functools.cache
def frame_sending() -> Sending:
    """Accepts the messages of WebSocket frames, and passes signals on."""
    # Imported here: functions of the HTTP API need none of it.
    from headrace.streams.chat.live.frames import Sending

    gate = room_gate()
    limiter = rate_limiter()
    sending = acceptor({"chat": chat_gate(gate)}, limiter, backlog=backlog_limit())
    return Sending(sending, gate, publisher().live_publisher(), limiter)


@functools.cache
def http_acceptor() -> Acceptor:
    """Accepts the events of HTTP requests, of every stream."""
    hasher = AddressHasher(secrets(), AddressSettings.read().address_secret_arn)
    gates: dict[str, Gate] = {"chat": chat_gate(room_gate()), "ski": SeasonGate(resorts)}
    return acceptor(gates, rate_limiter(), hasher.hashed, backlog_limit())


@functools.cache
def change_gate() -> ChangeGate:
    """Decides who may edit or delete a message."""
    # Imported here: only environments that get a change need it.
    from headrace.streams.chat.changes.dynamodb import DynamoChanges

    store = DynamoChanges(impatient("dynamodb"), table_settings(CHAT).table)
    return ChangeGate(ChangeRights(store, *rooms_and_memberships()))


def chat_gate(messages: RoomGate) -> Gate:
    """Decides which messages and changes may be written."""
    return AttachmentGate(ChatGate(messages, change_gate), lambda: attachments(is_impatient=True))


def room_gate() -> RoomGate:
    """Decides who may write in a room. Events that cannot be checked now are checked before they are stored."""
    by_first_message = RoomSettings.read().rooms_by_first_message
    return RoomGate(*rooms_and_memberships(), by_first_message=by_first_message)


@functools.cache
def rooms_and_memberships() -> tuple[CachedRooms, DynamoMemberships]:
    """The rooms, with those that were read before kept in memory, and the memberships."""
    settings, dynamodb = RoomSettings.read(), impatient("dynamodb")
    rooms = CachedRooms(DynamoRooms(dynamodb, settings.rooms_table))
    return rooms, DynamoMemberships(dynamodb, settings.memberships_table)


@functools.cache
def resorts() -> DynamoResorts:
    """The resorts and their seasons: a ride is refused if its resort does not have its season."""
    return DynamoResorts(impatient("dynamodb"), ResortSettings.read().resorts_table)


@functools.cache
def backlog_limit() -> BacklogLimit | None:
    """Refuses events of streams with a backlog; ``None`` if there is no limit."""
    limit = RateSettings.read().backlog_seconds
    waits = SharedWaits(separate_cache(), clock())
    return BacklogLimit(waits, BrokerSettings.read().persist_queues, limit) if limit else None


def acceptor(
    gates: Mapping[str, Gate],
    limiter: RateLimiter | None = None,
    hash_address: HashAddress = without_hash,
    backlog: BacklogLimit | None = None,
) -> Acceptor:
    """Accepts events; ``gates``, by stream name, refuse events that their sender may not write."""
    guarded = GuardedPublisher(publisher(), BreakerRule(on_state=breaker_status().seen))
    queues = BrokerSettings.read().persist_queues
    return Acceptor(guarded, retry_lane(), queues, clock(), gates, limiter, hash_address, backlog)


@functools.cache
def publisher() -> RabbitPublisher:
    """Has the environment's one connection to a broker."""
    return RabbitPublisher(broker_settings(), secrets())
