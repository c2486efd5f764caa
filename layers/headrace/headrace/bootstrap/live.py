"""WebSocket connections, and pushes to them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headrace.bootstrap.shared import cache, clock, dynamodb, secrets
from headrace.runtime.settings import ConnectionSettings, LiveSettings, PushSettings

if TYPE_CHECKING:
    from headrace.live.connections_dynamodb import DynamoConnections
    from headrace.live.push_service import PushService
    from headrace.live.subscriber_hints import SubscriberHints
    from headrace.streams.chat.hook import LiveHook

LOOK_SECONDS = 0.5
"""For one question about subscribers, asked while stored messages wait to be settled."""


@functools.cache
def connections() -> DynamoConnections:
    """The connections and their subscriptions."""
    from headrace.live.connections_dynamodb import DynamoConnections

    return DynamoConnections(dynamodb(), ConnectionSettings.read().connections_table)


@functools.cache
def subscriber_hints() -> SubscriberHints:
    """Which rooms have subscribers."""
    from headrace.live.subscriber_hints import SubscriberHints

    return SubscriberHints(cache(), connections())


@functools.cache
def live_hook() -> LiveHook:
    """Publishes live copies of stored messages."""
    from headrace.live.connections_dynamodb import DynamoConnections
    from headrace.live.subscriber_hints import SubscriberHints
    from headrace.queues.rabbitmq.live_publisher import RabbitLivePublisher
    from headrace.runtime.aws import client
    from headrace.streams.chat.hook import LiveHook

    settings = LiveSettings.read()
    impatient = client("dynamodb", timeout=LOOK_SECONDS, attempts=1)
    hints = SubscriberHints(cache(), DynamoConnections(impatient, settings.connections_table))
    return LiveHook(hints, RabbitLivePublisher(settings, secrets()))


@functools.cache
def push_service() -> PushService:
    """Pushes live copies to subscribers."""
    from headrace.live.push.api_gateway import ApiGatewayPusher
    from headrace.live.push.connection_pool import ConnectionPool
    from headrace.live.push.http_connection import Target
    from headrace.live.push.sigv4 import Signer
    from headrace.live.push_service import PushService
    from headrace.runtime.aws import signing

    credentials, region = signing()
    url = PushSettings.read().connections_url
    pusher = ApiGatewayPusher(Signer(url, region, credentials, clock()), ConnectionPool(Target(url)))
    return PushService(connections(), pusher)
