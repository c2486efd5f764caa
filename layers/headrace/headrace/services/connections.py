"""Builds what is known of WebSocket connections: their rows, and hints which rooms have subscribers."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headrace.live.connections import SubscriberHints, TokenExpiries
from headrace.live.dynamodb import Connections
from headrace.runtime.aws import AwsClient
from headrace.runtime.settings import ConnectionSettings
from headrace.services.shared import clock, dynamodb, separate_cache
from headrace.storage.dynamodb.client import DynamoTable

if TYPE_CHECKING:
    from headrace.live.shares import Shares


@functools.cache
def connections() -> Connections:
    """The connections and their subscriptions."""
    return connections_of(dynamodb())


def connections_of(client: AwsClient) -> Connections:
    """The same, through another client of DynamoDB."""
    return Connections(DynamoTable(client, ConnectionSettings.read().connections_table, "connections"))


@functools.cache
def token_expiries() -> TokenExpiries:
    """When the tokens of renewed connections expire."""
    return TokenExpiries(connections().expiries, clock())


@functools.cache
def subscriber_hints() -> SubscriberHints:
    """Which rooms have subscribers."""
    return SubscriberHints(separate_cache(), connections())


@functools.cache
def shares() -> Shares:
    """How much each user follows."""
    # Imported here: only functions that open connections or subscribe them need it.
    from headrace.live.shares import Shares

    return Shares(separate_cache(), connections())
