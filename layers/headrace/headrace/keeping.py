"""Builds what manage_rooms needs, once per environment and on first use."""

from __future__ import annotations

import functools

from headrace.api.paging.cursors import CursorSigner
from headrace.core.times import SystemClock
from headrace.reading import connections
from headrace.rights import access, memberships, rooms
from headrace.room_keeper import RoomKeeper
from headrace.room_members import RoomMembers
from headrace.room_routes import RoomRoutes
from headrace.room_stories import RoomStories
from headrace.runtime.secrets import ManagedSecrets
from headrace.runtime.settings import ReadSettings
from headrace.writing import acceptor


@functools.cache
def room_routes() -> RoomRoutes:
    """Answers requests about rooms and their members."""
    settings = ReadSettings.read()
    clock = SystemClock()
    signer = CursorSigner(ManagedSecrets().text(settings.cursor_secret_arn).encode())
    keeper = RoomKeeper(rooms(), memberships(), connections(), RoomStories(acceptor({}), clock), clock)
    return RoomRoutes(keeper, RoomMembers(access(), rooms(), memberships(), signer), clock, settings.scope_prefix)
