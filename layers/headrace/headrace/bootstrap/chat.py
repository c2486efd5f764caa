"""Rooms, memberships, history and conversations."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headrace.bootstrap.shared import clock, cursors, dynamodb, impatient_dynamodb, range_reader
from headrace.runtime.settings import RoomSettings, table_settings

if TYPE_CHECKING:
    from headrace.streams.chat.access import RoomAccess
    from headrace.streams.chat.conversations import Conversations
    from headrace.streams.chat.frames import Subscriptions
    from headrace.streams.chat.gate import RoomGate
    from headrace.streams.chat.history import History
    from headrace.streams.chat.memberships_dynamodb import DynamoMemberships
    from headrace.streams.chat.newest_page_cache import NewestPageCache
    from headrace.streams.chat.rooms import RememberedRooms
    from headrace.streams.chat.routes import RoomServices


@functools.cache
def rooms() -> RememberedRooms:
    """The rooms, remembered."""
    from headrace.streams.chat.rooms import DynamoRooms, RememberedRooms

    return RememberedRooms(DynamoRooms(dynamodb(), RoomSettings.read().rooms_table))


@functools.cache
def memberships() -> DynamoMemberships:
    """The memberships."""
    from headrace.streams.chat.memberships_dynamodb import DynamoMemberships

    return DynamoMemberships(dynamodb(), RoomSettings.read().memberships_table)


@functools.cache
def access() -> RoomAccess:
    """Who may read and write."""
    from headrace.streams.chat.access import RoomAccess

    return RoomAccess(rooms(), memberships())


@functools.cache
def room_gate() -> RoomGate:
    """Who may write, for requests that must not wait: what cannot be checked soon is checked before it is stored."""
    from headrace.streams.chat.gate import RoomGate
    from headrace.streams.chat.memberships_dynamodb import DynamoMemberships
    from headrace.streams.chat.rooms import DynamoRooms, RememberedRooms

    settings = RoomSettings.read()
    known = RememberedRooms(DynamoRooms(impatient_dynamodb(), settings.rooms_table))
    return RoomGate(known, DynamoMemberships(impatient_dynamodb(), settings.memberships_table))


@functools.cache
def messages_table() -> str:
    """The name of the messages' table."""
    from headrace.streams.chat.stream import CHAT

    return table_settings(CHAT).table


@functools.cache
def room_history() -> History:
    """The history of rooms, with their newest pages in the cache."""
    from headrace.bootstrap.shared import cache
    from headrace.streams.chat.newest_page_cache import NewestPageCache

    return _history(NewestPageCache(cache(), clock()))


@functools.cache
def user_history() -> History:
    """The history of users; nothing of it is cached."""
    return _history(None)


def _history(newest: NewestPageCache | None) -> History:
    from headrace.streams.chat.history import History

    return History(range_reader(), cursors(), messages_table(), clock(), access(), newest)


@functools.cache
def conversations() -> Conversations:
    """Users' lists of rooms, and their read marks."""
    from headrace.runtime.aws import client
    from headrace.storage.dynamodb.range_reader import DynamoReader
    from headrace.streams.chat.activity import DynamoRoomActivity
    from headrace.streams.chat.conversations import AT_ONCE, Conversations
    from headrace.streams.chat.memberships_dynamodb import DynamoMemberships

    settings, parallel = RoomSettings.read(), client("dynamodb", connections=2 * AT_ONCE)
    return Conversations(
        DynamoMemberships(parallel, settings.memberships_table),
        DynamoRoomActivity(parallel, settings.rooms_table),
        DynamoReader(parallel),
        cursors(),
        messages_table(),
        clock(),
    )


@functools.cache
def room_services() -> RoomServices:
    """Creates rooms, lets users in and out, lists members."""
    from headrace.bootstrap.ingest import acceptor
    from headrace.bootstrap.live import connections
    from headrace.streams.chat.join_messages import JoinMessages
    from headrace.streams.chat.room_service import RoomMembers, RoomService
    from headrace.streams.chat.routes import RoomServices

    # JOIN and LEAVE messages follow from a change that was allowed: they need no gate and no rate limit.
    join_messages = JoinMessages(acceptor({}), clock())
    service = RoomService(rooms(), memberships(), connections(), join_messages, clock())
    return RoomServices(service, RoomMembers(access(), rooms(), memberships(), cursors()))


@functools.cache
def subscriptions() -> Subscriptions:
    """Subscriptions of connections to rooms."""
    from headrace.bootstrap.live import connections, subscriber_hints
    from headrace.streams.chat.frames import Subscriptions

    return Subscriptions(connections(), subscriber_hints(), access(), room_history(), range_reader(), messages_table())
