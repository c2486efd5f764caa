"""Builds rooms and memberships: for requests that wait for a table, and for those that must not."""

from __future__ import annotations

import functools

from headrace.runtime.settings import RoomSettings
from headrace.services.shared import dynamodb, impatient
from headrace.streams.chat.rooms.dynamodb import Memberships, RoomTable
from headrace.streams.chat.rooms.rooms import CachedRooms


@functools.cache
def rooms() -> CachedRooms:
    """The rooms, with those that were read before kept in memory."""
    return CachedRooms(RoomTable(dynamodb(), RoomSettings.read().rooms_table))


@functools.cache
def memberships() -> Memberships:
    return Memberships(dynamodb(), RoomSettings.read().memberships_table)


@functools.cache
def impatient_rooms() -> tuple[CachedRooms, Memberships]:
    """Rooms and memberships for the checks of events, which are checked again later if a table does not answer."""
    settings, client = RoomSettings.read(), impatient("dynamodb")
    return CachedRooms(RoomTable(client, settings.rooms_table)), Memberships(client, settings.memberships_table)
