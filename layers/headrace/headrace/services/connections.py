"""Builds what is known of WebSocket connections: their rows, and hints which rooms have subscribers."""

from __future__ import annotations

import functools

from headrace.live.connections import SubscriberHints, TokenExpiries
from headrace.live.dynamodb import DynamoConnections
from headrace.runtime.settings import ConnectionSettings
from headrace.services.shared import clock, dynamodb, separate_cache


@functools.cache
def connections() -> DynamoConnections:
    """The connections and their subscriptions."""
    return DynamoConnections(dynamodb(), ConnectionSettings.read().connections_table)


@functools.cache
def token_expiries() -> TokenExpiries:
    """When the tokens of renewed connections expire."""
    return TokenExpiries(connections().expiries, clock())


@functools.cache
def subscriber_hints() -> SubscriberHints:
    """Which rooms have subscribers."""
    return SubscriberHints(separate_cache(), connections())
