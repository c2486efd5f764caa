"""Who is in a room: pages in order of user ids, for whoever may read the room now."""

from __future__ import annotations

from typing import Any

from headrace.api.paging.cursors import CursorSigner, Query
from headrace.api.paging.request import ListRequest
from headrace.core.caller import Caller
from headrace.core.errors import StoreThrottled
from headrace.streams.chat.access import Access, not_in_room
from headrace.streams.chat.join_messages import shown_name
from headrace.streams.chat.memberships import MEMBER, OWNER, Membership, Memberships
from headrace.streams.chat.room_service import is_owner
from headrace.streams.chat.rooms import Room, Rooms

DEFAULT_LIMIT = 50
LIMIT = 100
READS_PER_PAGE = 4
"""Index reads that one page may cost: only people who have left make it more than one."""


class RoomMembers:
    """Answers who is in a room; memberships are read consistently, so nobody is shown who has left."""

    def __init__(self, access: Access, rooms: Rooms, memberships: Memberships, cursors: CursorSigner) -> None:
        self._access = access
        self._rooms = rooms
        self._memberships = memberships
        self._cursors = cursors

    def page(self, caller: Caller, room_id: str, request: ListRequest) -> dict[str, Any]:
        """Some members; ``hasMore`` says whether ``next`` leads to more people, who may turn out to have left.

        Raises:
            Forbidden: the caller may not read the room now. InvalidCursor.
        """
        if not self._access.reach(caller, room_id).is_open:
            raise not_in_room(room_id)
        query = Query("members", room_id, caller.subject)
        after = None
        if request.place is not None:
            (after,) = self._cursors.verify(request.place, query, "after", parts=1)
        room = self._rooms.get(room_id)
        items: list[dict[str, Any]] = []
        more = room is not None
        for _ in range(READS_PER_PAGE):
            if room is None or not more or len(items) >= request.limit:
                break
            users, more = self._memberships.users_of(room_id, after, request.limit - len(items))
            after = users[-1] if users else after
            items += [_shown(room, each) for each in self._present(room_id, users)]
        more = more and after is not None
        following = self._cursors.sign(query, "after", [after]) if more and after is not None else None
        return {"items": items, "next": following, "hasMore": more}

    def _present(self, room_id: str, users: list[str]) -> list[Membership]:
        pairs = [(user_id, room_id) for user_id in users]
        found = self._memberships.get_many(pairs) if pairs else {}
        if len(found) < len(pairs):
            raise StoreThrottled("the members cannot all be read right now; try again shortly")
        return [found[pair] for pair in pairs if found[pair].is_open]


def _shown(room: Room, membership: Membership) -> dict[str, Any]:
    return {
        "userId": membership.user_id,
        "username": shown_name(membership),
        "role": OWNER if is_owner(room, membership) else MEMBER,
        "joinedAt": membership.intervals[-1].joined_at,
    }
