"""Builds the table of messages and the logs of rooms."""

from __future__ import annotations

import functools

from headrace.runtime.settings import table_settings
from headrace.services.shared import cache, dynamodb, impatient
from headrace.streams.chat.messages.dynamodb import DynamoMessageTable
from headrace.streams.chat.messages.redis import RedisRoomLog
from headrace.streams.chat.stream import CHAT


@functools.cache
def room_log() -> RedisRoomLog:
    """The logs of rooms."""
    return RedisRoomLog(cache())


@functools.cache
def message_table() -> DynamoMessageTable:
    """The table of messages."""
    return DynamoMessageTable(dynamodb(), messages_table_name(), "messages")


@functools.cache
def impatient_message_table() -> DynamoMessageTable:
    """The table of messages, for checks as those of :func:`impatient_rooms`."""
    return DynamoMessageTable(impatient("dynamodb"), messages_table_name(), "messages")


def messages_table_name() -> str:
    return table_settings(CHAT).table
