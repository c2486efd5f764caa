"""The route that says who follows a room now."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from headrace.api.router import Request, Route
from headrace.core.caller import CHAT_READ
from headrace.core.errors import NotFound
from headrace.core.fields import CanonicalTime
from headrace.live.dynamodb import Connections
from headrace.live.presence import LastChecks
from headrace.services.access import access
from headrace.services.connections import connections
from headrace.services.rooms import rooms
from headrace.services.shared import cache
from headrace.streams.chat.rooms.access import RoomAccess, existing, not_in_room
from headrace.streams.chat.rooms.requests import RoomPath
from headrace.streams.chat.rooms.rooms import CachedRooms

SUBSCRIPTIONS = 1_000
"""Subscriptions that are read. A room with more has too many followers for a list of names."""


class OnlineUser(TypedDict):
    """A user who follows a room over some ``connections``; one of them sent its last check at ``checkedAt``."""

    userId: str
    connections: int
    checkedAt: NotRequired[CanonicalTime]


class Online(TypedDict):
    """Who follows a room, by user id; with ``hasMore``, some of them. ``missing`` names fields that are unknown now."""

    items: list[OnlineUser]
    hasMore: bool
    missing: list[Literal["checkedAt"]]


@dataclass(frozen=True, slots=True)
class OnlineServices:
    """Rooms, rights in them, and connections with their last checks."""

    access: RoomAccess
    rooms: CachedRooms
    connections: Connections
    last_checks: LastChecks


@functools.cache
def online() -> OnlineServices:
    return OnlineServices(access(), rooms(), connections(), LastChecks(cache()))


def list_online(services: OnlineServices, request: Request[RoomPath, None, None]) -> dict[str, Any]:
    """List who follows a room now. Users who can read its new messages can ask.

    A connection that broke is listed until a message cannot be pushed to it, at most for two hours and ten minutes.
    ``checkedAt`` is when a client of the user last sent `check` or `resume`; it is absent before the first one.
    """
    room_id = request.path.room_id
    if not services.access.read_scope(request.caller, room_id).is_open:
        raise not_in_room(room_id)
    existing(services.rooms.get(room_id), room_id)
    followers, has_more = services.connections.followers(room_id, SUBSCRIPTIONS)
    checks = services.last_checks.of([each for ids in followers.values() for each in ids])
    items: list[OnlineUser] = []
    for user_id, connection_ids in sorted(followers.items()):
        items.append({"userId": user_id, "connections": len(connection_ids)})
        if known := [checks[each] for each in connection_ids if each in checks] if checks else []:
            items[-1]["checkedAt"] = max(known)
    return {"items": items, "hasMore": has_more, "missing": ["checkedAt"] if checks is None else []}


ROUTES = {
    "manage_rooms": {
        "GET /rooms/{roomId}/online": Route(
            list_online, (CHAT_READ,), RoomPath, answer=Online, errors=(NotFound,), services=online
        )
    }
}
