"""Builds rooms, memberships, history and conversations.

Modules that a cold start would notice are imported where their service is built: history takes 8 ms of CPU, the service
of rooms 4, subscriptions 4, and publishing 36. Smaller ones are imported here.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headrace.api.paging.newest_page_cache import NewestPageCache
from headrace.bootstrap.live import connections, subscriber_hints
from headrace.bootstrap.shared import (
    attachments,
    cache,
    clock,
    cursors,
    dynamodb,
    range_reader,
    rate_limiter,
    separate_cache,
)
from headrace.live.presence import LastChecks
from headrace.runtime.aws import client
from headrace.runtime.settings import RoomSettings, table_settings
from headrace.streams.chat.rooms.dynamodb.invitations import DynamoInvitations
from headrace.streams.chat.rooms.dynamodb.rooms import DynamoMemberships, DynamoRooms
from headrace.streams.chat.rooms.invitations import Consent, InvitationServices
from headrace.streams.chat.rooms.retention import MOST_DAYS
from headrace.streams.chat.rooms.rooms import CachedRooms, RoomAccess

if TYPE_CHECKING:
    from headrace.streams.chat.live.subscriptions import Subscriptions
    from headrace.streams.chat.messages.history import ChatReading, History
    from headrace.streams.chat.rooms.routes import RoomServices


@functools.cache
def rooms() -> CachedRooms:
    """The rooms, with those that were read before kept in memory."""
    return CachedRooms(DynamoRooms(dynamodb(), RoomSettings.read().rooms_table))


@functools.cache
def memberships() -> DynamoMemberships:
    return DynamoMemberships(dynamodb(), RoomSettings.read().memberships_table)


@functools.cache
def consent() -> Consent:
    """The invitations and blocks, and which invitations count."""
    table = RoomSettings.read().memberships_table
    return Consent(DynamoInvitations(dynamodb(), table), memberships(), rooms())


@functools.cache
def invitation_services() -> InvitationServices:
    """Users' lists of invitations, and their blocks."""
    return InvitationServices(consent(), cursors())


@functools.cache
def access() -> RoomAccess:
    """Decides who may read and write."""
    return RoomAccess(rooms(), memberships())


@functools.cache
def history(*, links: bool) -> History:
    """The history of rooms and users, with the newest pages of rooms in the cache; with ``links`` to attachments."""
    from headrace.streams.chat.messages.history import History
    from headrace.streams.chat.messages.redis import RedisRoomLog
    from headrace.streams.chat.messages.shards import MessageReader
    from headrace.streams.chat.stream import CHAT

    newest = NewestPageCache(cache(), clock())
    log = RedisRoomLog(cache())
    table = table_settings(CHAT).table
    files = attachments() if links else None
    return History(MessageReader(range_reader()), cursors(), table, clock(), access(), newest, log, files)


@functools.cache
def reading() -> ChatReading:
    """History and conversations."""
    from headrace.storage.dynamodb.readers import DynamoReader
    from headrace.streams.chat.changes.dynamodb import DynamoChanges
    from headrace.streams.chat.messages.history import AT_ONCE, ChatReading
    from headrace.streams.chat.messages.shards import MessageReader
    from headrace.streams.chat.messages.walks import Walks
    from headrace.streams.chat.stream import CHAT

    settings, parallel = RoomSettings.read(), client("dynamodb", connections=2 * AT_ONCE)
    return ChatReading(
        history(links=True),
        DynamoMemberships(parallel, settings.memberships_table),
        DynamoRooms(parallel, settings.rooms_table),
        MessageReader(DynamoReader(parallel)),
        cursors(),
        table_settings(CHAT).table,
        Walks(cache()),
        DynamoChanges(dynamodb(), table_settings(CHAT).table),
        rate_limiter(),
    )


@functools.cache
def subscriptions() -> Subscriptions:
    from headrace.live.shares import Shares
    from headrace.streams.chat.live.subscriptions import Subscriptions

    shares, checks = Shares(separate_cache()), LastChecks(cache())
    return Subscriptions(
        connections(), subscriber_hints(), access(), history(links=False), rate_limiter(), shares, checks
    )


@functools.cache
def room_services() -> RoomServices:
    """Rooms and their members, with the JOIN and LEAVE messages that follow from changes."""
    from headrace.bootstrap.acceptor import acceptor, publisher
    from headrace.streams.chat.live.channels import UserChannels
    from headrace.streams.chat.messages.gate import RoomGate
    from headrace.streams.chat.messages.redis import RedisRoomLog
    from headrace.streams.chat.rooms.joins import Joins
    from headrace.streams.chat.rooms.routes import RoomServices
    from headrace.streams.chat.rooms.uploads import Uploading

    # These messages follow from a change that was allowed: they need no gate and no rate limit.
    log, hints = RedisRoomLog(cache()), subscriber_hints()
    channels = UserChannels(log, hints, publisher().live_publisher(), clock())
    joins = Joins(memberships(), acceptor({}), channels)
    checks, days = LastChecks(cache()), RoomSettings.read().chat_retention_days
    return RoomServices(
        rooms(),
        memberships(),
        access(),
        connections(),
        hints,
        consent(),
        joins,
        channels,
        cursors,
        checks,
        Uploading(RoomGate(rooms(), memberships()).check, attachments(), days),
        days or MOST_DAYS,
    )
