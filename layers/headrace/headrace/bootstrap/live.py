"""Builds the store of WebSocket connections, and the hints which rooms have subscribers."""

from __future__ import annotations

import functools

from headrace.bootstrap.shared import dynamodb, separate_cache
from headrace.live.connections_dynamodb import DynamoConnections
from headrace.live.subscriber_hints import SubscriberHints
from headrace.runtime.settings import ConnectionSettings


@functools.cache
def connections() -> DynamoConnections:
    """The connections and their subscriptions."""
    return DynamoConnections(dynamodb(), ConnectionSettings.read().connections_table)


@functools.cache
def subscriber_hints() -> SubscriberHints:
    """Which rooms have subscribers."""
    return SubscriberHints(separate_cache(), connections())
