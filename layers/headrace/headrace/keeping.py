"""Builds what manage_rooms needs, once per environment and on first use."""

from __future__ import annotations

import functools

from headrace.api.paging.cursors import CursorSigner
from headrace.core.times import SystemClock
from headrace.reading import connections
from headrace.rights import access, memberships, rooms
from headrace.runtime.secrets import ManagedSecrets
from headrace.runtime.settings import ReadSettings
from headrace.streams.chat.join_messages import JoinMessages
from headrace.streams.chat.room_members import RoomMembers
from headrace.streams.chat.room_service import RoomService
from headrace.streams.chat.routes import RoomRoutes
from headrace.writing import acceptor


@functools.cache
def room_routes() -> RoomRoutes:
    """Answers requests about rooms and their members."""
    settings = ReadSettings.read()
    clock = SystemClock()
    signer = CursorSigner(ManagedSecrets().text(settings.cursor_secret_arn).encode())
    keeper = RoomService(rooms(), memberships(), connections(), JoinMessages(acceptor({}), clock), clock)
    return RoomRoutes(keeper, RoomMembers(access(), rooms(), memberships(), signer), clock, settings.scope_prefix)
