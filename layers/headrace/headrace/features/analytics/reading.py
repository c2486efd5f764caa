"""Builds the analytics of any stream."""

from __future__ import annotations

import functools
from collections.abc import Callable

from headrace.core.stream import Stream
from headrace.features.analytics.scanner import PARALLEL_READS, Scanner
from headrace.features.analytics.windows import Analytics
from headrace.runtime.settings import table_settings
from headrace.services.shared import cache, clock
from headrace.storage.dynamodb.readers import DynamoColumns, columns_client
from headrace.storage.reading import ColumnReader


@functools.cache
def chat_analytics() -> Analytics:
    """The analytics of chat messages."""
    # Imported here: the stream takes 4 ms of CPU, and read_ads needs the analytics of clicks alone.
    from headrace.streams.chat.messages.shards import MessageColumns
    from headrace.streams.chat.stream import CHAT

    return analytics_of(CHAT, MessageColumns)


def analytics_of(stream: Stream, adapted: Callable[[ColumnReader], ColumnReader] = lambda reader: reader) -> Analytics:
    """The analytics of a stream's events, from an ``adapted`` reader."""
    settings = table_settings(stream)
    # A client with a connection for each read, for which the shared client's pool is too small.
    reader = adapted(DynamoColumns(columns_client(PARALLEL_READS)))
    scanner = Scanner(reader, settings.table, clock())
    return Analytics(stream.with_time_shards(settings.time_shards), scanner, cache(), clock())
