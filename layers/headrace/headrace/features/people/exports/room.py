"""A room as its owner sees it: the room, its members, and the messages within the times that the owner was in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from headrace.core.items import Item
from headrace.core.people import Pages, Seen, Source
from headrace.core.times import Clock
from headrace.features.people.exports.lines import Omitted
from headrace.features.people.exports.tasks import Task
from headrace.storage.reading import RangeQuery, RangeReader
from headrace.streams.chat.rooms.access import effective_role
from headrace.streams.chat.rooms.dynamodb import Memberships
from headrace.streams.chat.rooms.memberships import OWNER, Membership
from headrace.streams.chat.rooms.read_scope import ReadScope
from headrace.streams.chat.rooms.rooms import MEMBERS, Room, Rooms
from headrace.streams.chat.stream import item_of

_MEMBERS_AT_ONCE = 100
_MESSAGES_AT_ONCE = 1000
NOT_INCLUDED: Sequence[Omitted] = (
    {"what": "messages from before you came, or while you were not in the room", "why": "you may not read them"},
    {"what": "the texts of deleted messages, and earlier texts of edited ones", "why": "pages do not show them"},
    {"what": "what the members do elsewhere, their read marks and invitations", "why": "it is theirs"},
)


@dataclass(frozen=True, slots=True)
class RoomSources:
    """Reads a room, its messages from ``table``. Rights are looked up for each slice."""

    rooms: Rooms
    memberships: Memberships
    reader: RangeReader
    table: str
    features: Callable[[Seen], Sequence[Source]]
    clock: Clock

    def of(self, task: Task) -> tuple[Sequence[Source], Sequence[Omitted]] | None:
        """The sources of a room's export, and what none of them has; ``None`` if who asked owns the room no more."""
        room, membership = self.rooms.get(task.id), self.memberships.get(task.beside or "", task.id)
        if room is None or not owns(room, membership):
            return None
        scope = ReadScope(membership.intervals, lambda: room.retention)
        members = [partial(self._members, room)] if membership.is_open else []
        seen = partial(self._seen, room, scope)
        return [partial(self._room, room), *members, partial(_messages, seen), *self.features(seen)], NOT_INCLUDED

    def _room(self, room: Room, _: Item | None) -> Pages:
        yield [("room", room.to_body())], None

    def _members(self, room: Room, start: Item | None) -> Pages:
        after: str | None = None if start is None else start["userId"]
        more = True
        while more:
            users, more = self.memberships.users_of(room.room_id, after, _MEMBERS_AT_ONCE)
            after = users[-1] if users else None
            found = self.memberships.get_many([(user_id, room.room_id) for user_id in users])
            rows = [
                {
                    "userId": each.user_id,
                    "username": each.shown_name,
                    "role": effective_role(room, each),
                    "joinedAt": each.intervals[-1].joined_at,
                }
                for each in found.values()
                if each.is_open
            ]
            yield [("members", row) for row in rows], {"userId": after} if more and after is not None else None

    def _seen(self, room: Room, scope: ReadScope, start: Item | None) -> Iterator[tuple[list[Item], Item | None]]:
        """Pages of the messages that the owner may read."""
        limit, more = _MESSAGES_AT_ONCE, True
        rows = RangeQuery(
            self.table, "roomId", room.room_id, "timestampSk", newest_first=False, limit=limit, consistent=True
        )
        while more:
            found, now = self.reader.read(replace(rows, start=start)), self.clock.now()
            more, start = found.more is not None, dict(found.more or {}) or None
            yield [row for row in found.items if scope.shows(row, now)], start


def _messages(seen: Seen, start: Item | None) -> Pages:
    for rows, place in seen(start):
        yield [("messages", item_of(row)) for row in rows], place


def owns(room: Room, membership: Membership) -> bool:
    """Whether the room is one of members, and the user of ``membership`` owns it now."""
    return room.kind == MEMBERS and effective_role(room, membership) == OWNER
