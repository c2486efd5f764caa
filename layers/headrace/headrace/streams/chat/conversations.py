"""Conversations: the rooms that a user is or was in, newest activity first, with the last message and what is unread.

What a room's members share stands once, in the room's row; what is a user's own, in the membership. A message therefore
writes nothing per member, and a list reads: the user's memberships, their rooms' rows, and for each room of the page
its last message and, if that is unread, the messages after the read mark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from headrace.api.paging.cursors import CursorSigner, Query
from headrace.api.paging.page import item_of
from headrace.api.paging.range_walk import ReadBudget, ranges, read_page, spans_of
from headrace.api.paging.request import ListRequest
from headrace.core import times
from headrace.core.caller import Caller
from headrace.core.errors import FieldError, Forbidden, InvalidRequest, echo
from headrace.core.intervals import Interval
from headrace.core.keys import MESSAGE_KEY_FORM, parse_read_mark, shown_read_mark, time_of
from headrace.core.sender import AHEAD_LIMIT
from headrace.storage.ports import RangeQuery, RangeReader
from headrace.streams.chat.access import not_in_room
from headrace.streams.chat.activity import ActiveRoom, RoomActivity
from headrace.streams.chat.memberships import Membership, Memberships
from headrace.streams.chat.rooms import OPEN
from headrace.streams.chat.stream import TEXT

ROOMS_LIMIT = 2000
"""Rooms of a user that a list covers: 20 reads of 100 rooms. It says so when there are more."""
DEFAULT_LIMIT = 20
LIMIT = 50
UNREAD_LIMIT = 100
AT_ONCE = 8

LAST_EFFORT = ReadBudget(reads=8, rows=1000)
UNREAD_EFFORT = ReadBudget(reads=4, rows=1000)
"""Reads that a room's count may spend on messages that do not count; then it says "or more"."""

_COUNTED = ("timestampSk", "userId", "messageType", "expiresAt")
MARK_FORM = f"{MESSAGE_KEY_FORM}; or a time: {times.ACCEPTED_FORM}"


@dataclass(frozen=True, slots=True)
class RoomView:
    """How a user stands to a room; ``activity`` is what the list is ordered by."""

    membership: Membership
    intervals: tuple[Interval, ...]
    active: ActiveRoom

    @property
    def place(self) -> tuple[str, str]:
        """Where the room stands in the list, from the end: its activity, then its id.

        In a ``members`` room that the user has left, nothing after the last interval counts: the order must not show
        that there are messages that they may not read (P12). Having joined is activity too.
        """
        last = self.intervals[-1]
        activity = max(self.active.last_key or "", last.joined_at)
        if last.left_at is not None and self.active.room.kind != OPEN:
            activity = min(activity, last.left_at)
        return activity, self.membership.room_id


class Conversations:
    """Answers a user's list of rooms, and moves their read marks. Both are the user's own: nobody else's."""

    def __init__(
        self,
        memberships: Memberships,
        activity: RoomActivity,
        reader: RangeReader,
        cursors: CursorSigner,
        table: str,
        clock: times.Clock,
    ) -> None:
        self._memberships = memberships
        self._activity = activity
        self._reader = reader
        self._cursors = cursors
        self._table = table
        self._clock = clock
        self._pool: ThreadPoolExecutor | None = None

    def page(self, caller: Caller, user_id: str, request: ListRequest) -> dict[str, Any]:
        """A page of the user's rooms. A walk meets every room whose activity did not change exactly once.

        ``complete`` is false for somebody who is in more than ``ROOMS_LIMIT`` rooms: the others are missing.

        Raises:
            Forbidden: somebody else's; InvalidCursor; StoreUnavailable.
        """
        now = self._clock.now()
        if user_id != caller.subject:
            detail = FieldError("userId", "is not you", echo(user_id), "the token's own user")
            raise Forbidden("conversations are shown to their own user only", details=[detail])
        query = Query("conversations", user_id, caller.subject)
        stands, more_rooms = self._stands(user_id)
        if request.place is not None:
            after = self._cursors.verify(request.place, query, "before", parts=2)
            stands = [stand for stand in stands if stand.place < after]
        page = stands[: request.limit]
        has_more = len(stands) > len(page)
        seconds = now // times.SECOND
        return {
            "items": self._each(page, seconds),
            "next": self._cursors.sign(query, "before", page[-1].place) if has_more else None,
            "hasMore": has_more,
            "complete": not more_rooms,
        }

    def mark_read(self, caller: Caller, room_id: str, up_to: object) -> dict[str, Any]:
        """Move the caller's read mark in a room forward, to ``up_to``; one that is further already stays.

        Raises:
            Forbidden: the caller was never in the room. InvalidRequest: no message key or time, or one to come.
        """
        now = self._clock.now()
        position = _position(up_to, now)
        membership = self._memberships.get(caller.subject, room_id)
        if not membership.intervals:
            raise not_in_room(room_id)
        if membership.read_to is None or membership.read_to < position:
            if not self._memberships.mark_read(caller.subject, room_id, position):
                membership = self._memberships.get(caller.subject, room_id)
                position = membership.read_to or position
        else:
            position = membership.read_to
        return {"roomId": room_id, "readTo": shown_read_mark(position)}

    def _stands(self, user_id: str) -> tuple[list[RoomView], bool]:
        """All rooms of the user in the list's order, and whether there are more than could be looked at."""
        found, more = self._memberships.rooms_of(user_id, ROOMS_LIMIT)
        memberships = {each.room_id: (each, intervals) for each in found if (intervals := each.intervals)}
        rooms = self._activity.read(list(memberships))
        stands = [RoomView(*memberships[room_id], room) for room_id, room in rooms.items()]
        return sorted(stands, key=lambda stand: stand.place, reverse=True), more

    def _each(self, stands: Sequence[RoomView], now: int) -> list[dict[str, Any]]:
        if len(stands) <= 1:
            return [self._item(stand, now) for stand in stands]
        self._pool = self._pool or ThreadPoolExecutor(AT_ONCE, "conversations")
        return list(self._pool.map(lambda stand: self._item(stand, now), stands))

    def _item(self, stand: RoomView, now: int) -> dict[str, Any]:
        membership, room, last = stand.membership, stand.active.room, stand.intervals[-1]
        message = self._last_message(stand, now)
        mark = membership.read_to
        unread, capped = 0, False
        if message is not None and (mark is None or message["timestampSk"] > mark):
            unread, capped = self._unread(stand, now)
        return {
            "roomId": room.room_id,
            "kind": room.kind,
            "form": room.form,
            "membership": {
                "state": "in" if last.left_at is None else "left",
                "since": last.joined_at if last.left_at is None else last.left_at,
            },
            "activityAt": time_of(stand.place[0]),
            "lastMessage": None if message is None else item_of(message),
            "unread": unread,
            "unreadCapped": capped,
            "readTo": None if mark is None else shown_read_mark(mark),
        }

    def _last_message(self, stand: RoomView, now: int) -> Mapping[str, Any] | None:
        """The newest message that the user may see."""
        spans = spans_of(None if stand.active.room.kind == OPEN else stand.intervals, None, None)
        queries = ranges(self._rows(stand), spans, None, True)
        found = read_page(self._reader, queries, 1, now, LAST_EFFORT)
        return found.items[0] if found.items else None

    def _unread(self, stand: RoomView, now: int) -> tuple[int, bool]:
        """How many texts of others were said in their intervals after the read mark, and whether there may be more."""
        mark = stand.membership.read_to
        user_id = stand.membership.user_id
        place = None if mark is None else {"timestampSk": mark}
        queries = ranges(self._rows(stand, _COUNTED), spans_of(stand.intervals, None, None), place, False)
        found = read_page(self._reader, queries, UNREAD_LIMIT, now, UNREAD_EFFORT, lambda row: _counts(row, user_id))
        return len(found.items), found.more is not None

    def _rows(self, stand: RoomView, attributes: tuple[str, ...] = ()) -> RangeQuery:
        room_id = stand.membership.room_id
        return RangeQuery(self._table, "roomId", room_id, "timestampSk", consistent=True, attributes=attributes)


def _counts(row: Mapping[str, Any], user_id: str) -> bool:
    return bool(row["userId"] != user_id and row["messageType"] == TEXT)


def _position(up_to: object, now: int) -> str:
    try:
        position = parse_read_mark(up_to)
    except ValueError:
        detail = FieldError("upTo", "is neither a message key nor a time", echo(up_to), MARK_FORM)
        raise InvalidRequest("upTo names no message and no time", details=[detail]) from None
    if time_of(position) > times.iso(now + AHEAD_LIMIT):
        allowed = f"at most 5 minutes ahead; the server's time is {times.iso(now)}"
        detail = FieldError("upTo", "is too far ahead", echo(up_to), allowed)
        raise InvalidRequest("upTo is too far ahead", details=[detail])
    return position
