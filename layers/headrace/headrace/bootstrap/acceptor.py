"""Builds the path of events from clients to the broker."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from headrace.api.rates.rate_limiter import RateLimiter
from headrace.bootstrap.shared import breaker_status, clock, impatient, rate_limiter, retry_lane, secrets
from headrace.core.caller import HashAddress, without_hash
from headrace.delivery.acceptor import Acceptor, Gate
from headrace.queues.rabbitmq.publisher import GuardedPublisher, RabbitPublisher
from headrace.runtime.breaker import BreakerRule
from headrace.runtime.settings import AddressSettings, BrokerSettings, ResortSettings, RoomGateSettings
from headrace.streams.ads.addresses import AddressHasher
from headrace.streams.chat.messages.gate import RoomGate
from headrace.streams.chat.rooms.dynamodb.rooms import DynamoMemberships, DynamoRooms
from headrace.streams.chat.rooms.rooms import CachedRooms
from headrace.streams.ski.dynamodb import DynamoResorts
from headrace.streams.ski.resorts import SeasonGate


@functools.cache
def frame_acceptor() -> Acceptor:
    """Accepts the events of WebSocket frames, which are messages."""
    return acceptor({"chat": room_gate()}, rate_limiter())


@functools.cache
def http_acceptor() -> Acceptor:
    """Accepts the events of HTTP requests, of every stream."""
    hasher = AddressHasher(secrets(), AddressSettings.read().address_secret_arn)
    return acceptor({"chat": room_gate(), "ski": SeasonGate(resorts)}, rate_limiter(), hasher.hashed)


def room_gate() -> RoomGate:
    """Decides who may write in a room. Events that cannot be checked now are checked before they are stored."""
    settings, dynamodb = RoomGateSettings.read(), impatient("dynamodb")
    rooms = CachedRooms(DynamoRooms(dynamodb, settings.rooms_table))
    memberships = DynamoMemberships(dynamodb, settings.memberships_table)
    return RoomGate(rooms, memberships, by_first_message=settings.rooms_by_first_message)


@functools.cache
def resorts() -> DynamoResorts:
    """The resorts and their seasons: a ride is refused if its resort does not have its season."""
    return DynamoResorts(impatient("dynamodb"), ResortSettings.read().resorts_table)


def acceptor(
    gates: Mapping[str, Gate], limiter: RateLimiter | None = None, hash_address: HashAddress = without_hash
) -> Acceptor:
    """Accepts events; ``gates``, by stream name, refuse events that their sender may not write."""
    settings = BrokerSettings.read()
    publisher = GuardedPublisher(RabbitPublisher(settings, secrets()), BreakerRule(), breaker_status().seen)
    return Acceptor(publisher, retry_lane(), settings.persist_queues, clock(), gates, limiter, hash_address)
