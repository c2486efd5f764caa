"""Which rows of a user, in many rooms, a reader may see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.core.caller import Caller
from headrace.storage.reading import RangeQuery, RangeReader, Rows
from headrace.streams.chat.rooms.access import RoomAccess
from headrace.streams.chat.rooms.read_scope import ReadScope

ROOMS_PER_PAGE = 50
"""Rooms whose read scope one page of another user's messages may read."""
OWN_ROOMS_PER_PAGE = 200
"""The same for a user's own messages: more rooms than a page has items."""


@dataclass(slots=True)
class RoomFilter:
    """Reads rows of a user, and decides which of them are still kept and which ``caller`` may see.

    Without a ``caller``, the user reads their own. It reads each room once. ``now`` is in microseconds.
    """

    reader: RangeReader
    access: RoomAccess
    caller: Caller | None
    now: int
    scopes: dict[str, ReadScope | None] = field(default_factory=dict)

    def read(self, query: RangeQuery) -> Rows:
        return self.read_many([query])[0]

    def read_many(self, queries: Sequence[RangeQuery]) -> list[Rows]:
        answers = list(self.reader.read_many(queries))
        rooms = dict.fromkeys(row["roomId"] for rows in answers for row in rows.items)
        unknown = [room_id for room_id in rooms if room_id not in self.scopes]
        most = OWN_ROOMS_PER_PAGE if self.caller is None else ROOMS_PER_PAGE
        if asked := unknown[: most - len(self.scopes)]:
            access, caller = self.access, self.caller
            self.scopes |= access.whole_rooms(asked) if caller is None else access.read_scopes(caller, asked)
        return answers

    def sees(self, row: Mapping[str, Any]) -> bool | None:
        """Whether the row may be shown; ``None`` in a room that is one too many for the page."""
        if row["roomId"] not in self.scopes:
            return None
        scope = self.scopes[row["roomId"]]
        return scope is not None and scope.shows(row, self.now)
