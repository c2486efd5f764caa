"""Builds what publishes live copies of stored messages."""

from __future__ import annotations

import functools

from headrace.live.hints import Audience, SubscriberHints
from headrace.queues.brokers import beginning_at
from headrace.queues.ports import LivePublisher
from headrace.runtime.aws import client
from headrace.runtime.settings import BrokerSettings
from headrace.services.hints import connections_table
from headrace.services.messages import message_table, room_log
from headrace.services.shared import cache, clock, secrets
from headrace.streams.chat.messages.hooks import LiveHook

LOOK_SECONDS = 0.5
"""The timeout of one lookup of subscribers: the records are acknowledged only after it."""


@functools.cache
def live_hook() -> LiveHook:
    """Appends to the logs of rooms, and publishes live copies."""
    impatient = client("dynamodb", timeout=LOOK_SECONDS, attempts=1)
    hints = SubscriberHints(cache(), Audience(connections_table(impatient), clock()))
    return LiveHook(room_log(), hints, live_publisher, clock(), message_table().set_stored)


@functools.cache
def live_publisher() -> LivePublisher:
    """Publishes to the live queues."""
    # Imported here: pika takes 10 ms of CPU, and only environments that publish live copies need it.
    from headrace.queues.rabbitmq.publisher import ChannelKeeper, LiveChannel, RabbitLivePublisher, SpreadLivePublisher

    settings = BrokerSettings.read()
    orders = [beginning_at(settings, number) for number in range(len(settings.broker_endpoints))]
    return SpreadLivePublisher([RabbitLivePublisher(ChannelKeeper(LiveChannel, each, secrets())) for each in orders])
