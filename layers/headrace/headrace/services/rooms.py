"""Builds rooms, memberships and their messages: for requests that wait for a table, and for those that must not."""

from __future__ import annotations

import functools

from headrace.runtime.settings import RoomSettings, table_settings
from headrace.services.shared import cache, dynamodb, impatient
from headrace.streams.chat.messages.dynamodb import DynamoMessageTable
from headrace.streams.chat.messages.redis import RedisRoomLog
from headrace.streams.chat.rooms.dynamodb.rooms import DynamoMemberships, DynamoRooms
from headrace.streams.chat.rooms.rooms import CachedRooms, RoomAccess
from headrace.streams.chat.stream import CHAT


@functools.cache
def rooms() -> CachedRooms:
    """The rooms, with those that were read before kept in memory."""
    return CachedRooms(DynamoRooms(dynamodb(), RoomSettings.read().rooms_table))


@functools.cache
def memberships() -> DynamoMemberships:
    return DynamoMemberships(dynamodb(), RoomSettings.read().memberships_table)


@functools.cache
def access() -> RoomAccess:
    """Decides who may read and write."""
    return RoomAccess(rooms(), memberships())


@functools.cache
def impatient_rooms() -> tuple[CachedRooms, DynamoMemberships]:
    """Rooms and memberships for the checks of events, which are checked again later if a table does not answer."""
    settings, client = RoomSettings.read(), impatient("dynamodb")
    return CachedRooms(DynamoRooms(client, settings.rooms_table)), DynamoMemberships(client, settings.memberships_table)


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
