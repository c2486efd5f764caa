"""Builds hints which rooms have subscribers."""

from __future__ import annotations

import functools

from headrace.live.hints import Audience, SubscriberHints
from headrace.runtime.aws import AwsClient
from headrace.runtime.settings import ConnectionSettings
from headrace.services.shared import clock, dynamodb, separate_cache
from headrace.storage.dynamodb.client import DynamoTable


def connections_table(client: AwsClient) -> DynamoTable:
    """The table of connections and their subscriptions."""
    return DynamoTable(client, ConnectionSettings.read().connections_table, "connections")


@functools.cache
def subscriber_hints() -> SubscriberHints:
    """Which rooms have subscribers."""
    return SubscriberHints(separate_cache(), Audience(connections_table(dynamodb()), clock()))
