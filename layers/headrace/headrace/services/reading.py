"""Builds history and conversations."""

from __future__ import annotations

import functools

from headrace.api.paging.newest_page_cache import NewestPageCache
from headrace.runtime.aws import client
from headrace.runtime.settings import RoomSettings
from headrace.services.messages import message_table, messages_table_name, room_log
from headrace.services.rooms import access
from headrace.services.shared import cache, clock, cursors, range_reader, rate_limiter
from headrace.stage.registry import shows
from headrace.storage.dynamodb.readers import DynamoReader
from headrace.streams.chat.messages.history import AT_ONCE, ChatReading, History
from headrace.streams.chat.messages.shards import MessageReader
from headrace.streams.chat.messages.walks import Walks
from headrace.streams.chat.rooms.dynamodb.rooms import DynamoMemberships, DynamoRooms


@functools.cache
def history(*, links: bool) -> History:
    """The history of rooms and users, with the newest pages of rooms in the cache.

    Without ``links``, items are as in frames: ten links of attachments would fill half of one.
    """
    newest, reader = NewestPageCache(cache(), clock()), MessageReader(range_reader())
    added = shows() if links else []
    return History(reader, cursors(), messages_table_name(), clock(), access(), newest, room_log(), added)


@functools.cache
def reading() -> ChatReading:
    """History and conversations."""
    settings, parallel = RoomSettings.read(), client("dynamodb", connections=2 * AT_ONCE)
    return ChatReading(
        history(links=True),
        DynamoMemberships(parallel, settings.memberships_table),
        DynamoRooms(parallel, settings.rooms_table),
        MessageReader(DynamoReader(parallel)),
        cursors(),
        messages_table_name(),
        Walks(cache()),
        message_table(),
        rate_limiter(),
    )
