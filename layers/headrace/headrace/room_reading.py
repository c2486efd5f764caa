"""Builds what read_frame needs, once per environment and on first use."""

from __future__ import annotations

import functools

from headrace.core.times import SystemClock
from headrace.listening import audience
from headrace.reading import connections, room_history, scope_prefix
from headrace.rights import access
from headrace.runtime.aws import client
from headrace.runtime.settings import table_settings
from headrace.storage.dynamodb.range_reader import DynamoReader
from headrace.streams.chat.room_frames import RoomFrames
from headrace.streams.chat.stream import CHAT


@functools.cache
def room_frames() -> RoomFrames:
    """Answers frames about rooms."""
    table = table_settings(CHAT).table
    reader = DynamoReader(client("dynamodb"))
    return RoomFrames(connections(), audience(), access(), room_history(), reader, table, SystemClock(), scope_prefix())
