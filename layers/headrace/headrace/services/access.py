"""Builds rights in rooms."""

from __future__ import annotations

import functools

from headrace.services.rooms import memberships, rooms
from headrace.streams.chat.rooms.access import RoomAccess


@functools.cache
def access() -> RoomAccess:
    """Decides who may read and write."""
    return RoomAccess(rooms(), memberships())
