"""Builds the table of messages and the logs of rooms."""

from __future__ import annotations

import functools

from headrace.runtime.settings import table_settings
from headrace.services.shared import cache, dynamodb, impatient
from headrace.streams.chat.messages.dynamodb import MessageTable
from headrace.streams.chat.messages.redis import RoomLog
from headrace.streams.chat.stream import CHAT


@functools.cache
def room_log() -> RoomLog:
    """The logs of rooms."""
    return RoomLog(cache())


@functools.cache
def message_table() -> MessageTable:
    """The table of messages."""
    return MessageTable(dynamodb(), messages_table_name(), "messages")


@functools.cache
def impatient_message_table() -> MessageTable:
    """The table of messages, for checks as those of :func:`impatient_rooms`."""
    return MessageTable(impatient("dynamodb"), messages_table_name(), "messages")


def messages_table_name() -> str:
    return table_settings(CHAT).table
