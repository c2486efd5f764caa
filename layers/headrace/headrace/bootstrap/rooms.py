"""What manage_rooms needs: rooms and their members, and the JOIN and LEAVE messages that follow from changes."""

from __future__ import annotations

import functools

from headrace.bootstrap.chat import access, memberships, rooms
from headrace.bootstrap.ingest import acceptor
from headrace.bootstrap.live import connections
from headrace.bootstrap.shared import clock, cursors
from headrace.streams.chat.join_messages import JoinMessages
from headrace.streams.chat.room_service import RoomMembers, RoomService
from headrace.streams.chat.routes import RoomServices


@functools.cache
def room_services() -> RoomServices:
    """Creates rooms, lets users in and out, lists members."""
    # JOIN and LEAVE messages follow from a change that was allowed: they need no gate and no rate limit.
    join_messages = JoinMessages(acceptor({}), clock())
    service = RoomService(rooms(), memberships(), connections(), join_messages, clock())
    return RoomServices(service, RoomMembers(access(), rooms(), memberships(), cursors()))
