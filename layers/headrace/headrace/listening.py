"""Builds what live messages need, once per environment and on first use."""

from __future__ import annotations

import functools

from headrace.core.times import SystemClock
from headrace.live.connections_dynamodb import DynamoConnections
from headrace.live.push.api_gateway import ApiGatewayPusher
from headrace.live.push.connection_pool import ConnectionPool
from headrace.live.push.http_connection import Target
from headrace.live.push.sigv4 import Signer
from headrace.live.push_service import PushService
from headrace.live.subscriber_hints import SubscriberHints
from headrace.queues.rabbitmq.live_publisher import RabbitLivePublisher
from headrace.runtime.aws import client, signing
from headrace.runtime.secrets import ManagedSecrets
from headrace.runtime.settings import CacheSettings, ConnectionSettings, LiveSettings, PushSettings
from headrace.storage.cache import Cache
from headrace.storage.redis import RedisCache
from headrace.streams.chat.live_hook import LiveHook

LOOK_SECONDS = 0.5
"""For one question about listeners, asked while stored messages wait to be settled."""


def live_listener(cache: Cache) -> LiveHook:
    """Publishes live copies of stored messages."""
    settings = LiveSettings.read()
    hasty = client("dynamodb", timeout=LOOK_SECONDS, attempts=1)
    audience = SubscriberHints(cache, DynamoConnections(hasty, settings.connections_table))
    return LiveHook(audience, RabbitLivePublisher(settings, ManagedSecrets()))


@functools.cache
def audience() -> SubscriberHints:
    """Which rooms have listeners."""
    connections = DynamoConnections(client("dynamodb"), ConnectionSettings.read().connections_table)
    return SubscriberHints(RedisCache.of(CacheSettings.read()), connections)


@functools.cache
def pusher() -> PushService:
    """Pushes live copies to those who listen."""
    settings = PushSettings.read()
    credentials, region = signing()
    url = settings.connections_url
    courier = ApiGatewayPusher(Signer(url, region, credentials, SystemClock()), ConnectionPool(Target(url)))
    return PushService(DynamoConnections(client("dynamodb"), settings.connections_table), courier)
