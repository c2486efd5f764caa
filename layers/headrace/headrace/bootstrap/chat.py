"""Builds the services of rooms and of subscriptions.

Modules that a cold start would notice are imported where their service is built: history takes 8 ms of CPU, the service
of rooms 4, subscriptions 4, and publishing 36. Smaller ones are imported here.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from headrace.live.presence import LastChecks
from headrace.runtime.settings import RoomSettings
from headrace.services.access import access
from headrace.services.connections import connections, shares
from headrace.services.hints import subscriber_hints
from headrace.services.messages import room_log
from headrace.services.requests import cursors, rate_limiter
from headrace.services.rooms import memberships, rooms
from headrace.services.shared import cache
from headrace.streams.chat.rooms.retention import MOST_DAYS
from headrace.streams.chat.stream import MESSAGE

if TYPE_CHECKING:
    from headrace.streams.chat.live.subscriptions import Subscriptions
    from headrace.streams.chat.rooms.routes import RoomServices


@functools.cache
def subscriptions() -> Subscriptions:
    from headrace.services.reading import history
    from headrace.streams.chat.live.subscriptions import Subscriptions

    found = history(links=False)
    return Subscriptions(
        connections(), subscriber_hints(), access(), found, shares(), LastChecks(cache()), rate_limiter()
    )


@functools.cache
def room_services() -> RoomServices:
    """Rooms and their members, with the JOIN and LEAVE messages that follow from changes."""
    from headrace.bootstrap.acceptor import acceptor, publisher
    from headrace.stage.registry import STREAMS, channels, consent
    from headrace.streams.chat.messages.room_log import restart
    from headrace.streams.chat.rooms.joins import Joins
    from headrace.streams.chat.rooms.routes import RoomServices

    # These messages follow from a change that was allowed: they need no gate and no rate limit.
    live = publisher().live_publisher()
    to_users = channels(live)
    joins = Joins(memberships(), STREAMS[MESSAGE], acceptor(), to_users)
    return RoomServices(
        rooms(),
        memberships(),
        access(),
        connections(),
        subscriber_hints(),
        consent(),
        joins,
        to_users,
        functools.partial(restart, room_log()),
        cursors,
        live,
        RoomSettings.read().chat_retention_days or MOST_DAYS,
    )
