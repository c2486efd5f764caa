"""The service of manage_rooms."""

from __future__ import annotations

import functools

from headrace.bootstrap.chat import access, memberships, rooms
from headrace.bootstrap.ingest import acceptor
from headrace.bootstrap.live import connections
from headrace.bootstrap.shared import clock, cursors
from headrace.streams.chat.join_messages import JoinMessages
from headrace.streams.chat.room_service import RoomService


@functools.cache
def room_service() -> RoomService:
    """Rooms and their members, with the JOIN and LEAVE messages that follow from changes."""
    # These messages follow from a change that was allowed: they need no gate and no rate limit.
    join_messages = JoinMessages(acceptor({}), clock())
    return RoomService(rooms(), memberships(), access(), connections(), join_messages, cursors(), clock())
