"""Builds what live messages need, once per environment and on first use."""

from __future__ import annotations

import functools

from headrace.audience import Audience
from headrace.connections import DynamoConnections
from headrace.core.times import SystemClock
from headrace.live import LiveListener
from headrace.push.api_gateway import ApiGatewayCourier
from headrace.push.kept import KeptConnections
from headrace.push.lane import Target
from headrace.push.signing import Signer
from headrace.pusher import Pusher
from headrace.queues.rabbitmq.live_publisher import RabbitLivePublisher
from headrace.runtime.aws import client, signing
from headrace.runtime.secrets import ManagedSecrets
from headrace.runtime.settings import CacheSettings, ConnectionSettings, LiveSettings, PushSettings
from headrace.storage.cache import Cache
from headrace.storage.redis import RedisCache

LOOK_SECONDS = 0.5
"""For one question about listeners, asked while stored messages wait to be settled."""


def live_listener(cache: Cache) -> LiveListener:
    """Publishes live copies of stored messages."""
    settings = LiveSettings.read()
    hasty = client("dynamodb", timeout=LOOK_SECONDS, attempts=1)
    audience = Audience(cache, DynamoConnections(hasty, settings.connections_table))
    return LiveListener(audience, RabbitLivePublisher(settings, ManagedSecrets()))


@functools.cache
def audience() -> Audience:
    """Which rooms have listeners."""
    connections = DynamoConnections(client("dynamodb"), ConnectionSettings.read().connections_table)
    return Audience(RedisCache.of(CacheSettings.read()), connections)


@functools.cache
def pusher() -> Pusher:
    """Pushes live copies to those who listen."""
    settings = PushSettings.read()
    credentials, region = signing()
    url = settings.connections_url
    courier = ApiGatewayCourier(Signer(url, region, credentials, SystemClock()), KeptConnections(Target(url)))
    return Pusher(DynamoConnections(client("dynamodb"), settings.connections_table), courier)
