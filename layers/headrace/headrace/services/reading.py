"""Builds history."""

from __future__ import annotations

import functools

from headrace.api.paging.newest_page_cache import NewestPageCache
from headrace.services.access import access
from headrace.services.messages import message_table, messages_table_name, room_log
from headrace.services.requests import cursors
from headrace.services.rooms import rooms
from headrace.services.shared import cache, clock, range_reader
from headrace.stage.chosen import parts
from headrace.streams.chat.messages.history import ChatReading, History
from headrace.streams.chat.messages.shards import MessageReader


@functools.cache
def history(*, links: bool) -> History:
    """The history of rooms and users, with the newest pages of rooms in the cache.

    Without ``links``, items are as in frames: ten links of attachments would fill half of one.
    """
    newest, reader = NewestPageCache(cache(), clock()), MessageReader(range_reader())
    added = parts("show") if links else []
    return History(reader, cursors(), messages_table_name(), clock(), access(), newest, room_log(), added)


@functools.cache
def reading() -> ChatReading:
    return ChatReading(history(links=True), rooms().table, message_table())
