"""Conversations: the rooms that a user is or was in, newest activity first, with the last message and the unread count.

State that all members share is in the room's row, and a user's state is in the membership. So a message writes nothing
per member. A list reads the user's memberships and the rows of their rooms. For each room of the page it also reads the
last message and, if that is unread, the messages after the read mark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.api.paging.cursors import CursorSigner, Query
from headrace.api.paging.range_walk import ReadBudget, ranges, read_page, spans_of
from headrace.api.paging.request import ListRequest
from headrace.core import times
from headrace.core.caller import AHEAD_LIMIT, Caller
from headrace.core.errors import FieldError, InvalidRequest, echo
from headrace.core.keys import MESSAGE_KEY_FORM, after_time, parse_read_mark, shown_read_mark, time_of
from headrace.core.times import Interval
from headrace.runtime.threads import Parallel
from headrace.storage.ports import RangeQuery, RangeReader
from headrace.streams.chat.messages.activity import ActiveRoom, RoomActivity
from headrace.streams.chat.messages.positions import POSITION_FORM, parse_position
from headrace.streams.chat.rooms.access import check_own, not_in_room
from headrace.streams.chat.rooms.memberships import Membership, Memberships, state_of
from headrace.streams.chat.rooms.rooms import OPEN
from headrace.streams.chat.stream import TEXT, item_of

ROOMS_LIMIT = 2000
"""Rooms of a user that a list covers: 20 reads of 100. A user with more sees the newest, and ``complete`` is false."""
DEFAULT_LIMIT = 20
LIMIT = 50
UNREAD_LIMIT = 100
AT_ONCE = 8
LAST_BUDGET = ReadBudget(reads=8, rows=1000)
UNREAD_BUDGET = ReadBudget(reads=4, rows=1000)
"""Reads that the count of a room may spend on messages that do not count. After them, ``unreadCapped`` is true."""
_COUNTED = ("timestampSk", "userId", "messageType", "expiresAt")
MARK_FORM = f"{MESSAGE_KEY_FORM}; {POSITION_FORM}; or a time: {times.ACCEPTED_FORM}"


@dataclass(frozen=True, slots=True)
class RoomView:
    """A room as one user sees it."""

    membership: Membership
    intervals: tuple[Interval, ...]
    active: ActiveRoom

    @property
    def place(self) -> tuple[str, str]:
        """The room's position in the list: its newest activity, then its id. A join counts as activity.

        A ``members`` room that the user has left stays at the time of the leave. The order must not reveal messages
        that the user may not read (P12).
        """
        last = self.intervals[-1]
        if last.left_at is not None and self.active.room.kind != OPEN:
            return last.left_at, self.membership.room_id
        return max(self.active.last_key or "", last.joined_at), self.membership.room_id


class Conversations:
    """Lists the caller's rooms and moves the caller's read marks."""

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
        self._parallel = Parallel(AT_ONCE, "conversations")

    def page(self, caller: Caller, user_id: str, request: ListRequest) -> dict[str, Any]:
        """A page of the user's rooms. Paging to the end shows each room whose activity does not change exactly once.

        ``complete`` is false for a user with more than ``ROOMS_LIMIT`` rooms. The list has those that the user is in
        first, and then the ones that the user left last.

        Raises:
            Forbidden: ``user_id`` is another user. InvalidCursor. StoreUnavailable.
        """
        now = self._clock.now()
        check_own(caller, user_id, "conversations are shown to their own user only")
        query = Query("conversations", user_id, caller.subject)
        views, more_rooms = self._views(user_id)
        if request.position is not None:
            field, cursor = request.position
            after = self._cursors.verify(cursor, query, field, parts=2, directions=("before",))
            views = [view for view in views if view.place < after]
        page = views[: request.limit]
        has_more = len(views) > len(page)
        seconds = now // times.SECOND
        return {
            "items": self._parallel.map(lambda view: self._item(view, seconds), page),
            "next": self._cursors.sign(query, "before", page[-1].place) if has_more else None,
            "hasMore": has_more,
            "complete": not more_rooms,
        }

    def mark_read(self, caller: Caller, room_id: str, up_to: object) -> dict[str, Any]:
        """Move the caller's read mark in a room forward to ``up_to``. A mark that is already further stays.

        A mark never lies ahead of the server's clock, because it would cover messages that are sent later. So a message
        that is dated ahead stays unread until its time has come.

        Raises:
            Forbidden: the caller was never in the room.
            InvalidRequest: ``up_to`` is neither a message key, a time nor a position, or is more than 5 minutes ahead.
        """
        now = self._clock.now()
        position = min(_read_mark(up_to, now), after_time(times.iso(now)))
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

    def _views(self, user_id: str) -> tuple[list[RoomView], bool]:
        """The rooms of the user in the list's order, and whether there are more than ``ROOMS_LIMIT``."""
        found, more = self._memberships.rooms_of(user_id, ROOMS_LIMIT)
        joined = {each.room_id: (each, each.intervals) for each in found}
        rooms = self._activity.read(list(joined))
        views = [RoomView(*joined[room_id], room) for room_id, room in rooms.items()]
        return sorted(views, key=lambda view: view.place, reverse=True), more

    def _item(self, view: RoomView, now: int) -> dict[str, Any]:
        membership, room, last = view.membership, view.active.room, view.intervals[-1]
        message = self._last_message(view, now)
        mark = membership.read_to
        unread, capped = 0, False
        if message is not None and (mark is None or message["timestampSk"] > mark):
            unread, capped = self._unread(view, now)
        return {
            "roomId": room.room_id,
            "kind": room.kind,
            "form": room.form,
            "name": room.name,
            "topic": room.topic,
            "membership": state_of(last),
            "activityAt": time_of(view.place[0]),
            "lastMessage": None if message is None else item_of(message),
            "unread": unread,
            "unreadCapped": capped,
            "readTo": None if mark is None else shown_read_mark(mark),
        }

    def _last_message(self, view: RoomView, now: int) -> Mapping[str, Any] | None:
        """The newest message that the user may see."""
        spans = spans_of(None if view.active.room.kind == OPEN else view.intervals, None, None)
        queries = ranges(self._rows(view), spans, None, True)
        found = read_page(self._reader, queries, 1, now, LAST_BUDGET)
        return found.items[0] if found.items else None

    def _unread(self, view: RoomView, now: int) -> tuple[int, bool]:
        """The number of unread messages, and whether there may be more. Only texts of others count."""
        mark = view.membership.read_to
        user_id = view.membership.user_id
        place = None if mark is None else {"timestampSk": mark}
        queries = ranges(self._rows(view, _COUNTED), spans_of(view.intervals, None, None), place, False)
        found = read_page(self._reader, queries, UNREAD_LIMIT, now, UNREAD_BUDGET, lambda row: _counts(row, user_id))
        return len(found.items), found.more is not None

    def _rows(self, view: RoomView, attributes: tuple[str, ...] = ()) -> RangeQuery:
        room_id = view.membership.room_id
        return RangeQuery(self._table, "roomId", room_id, "timestampSk", consistent=True, attributes=attributes)


def _counts(row: Mapping[str, Any], user_id: str) -> bool:
    return bool(row["userId"] != user_id and row["messageType"] == TEXT)


def _read_mark(up_to: object, now: int) -> str:
    try:
        if isinstance(up_to, str) and up_to.startswith("p"):
            mark = after_time(times.iso(parse_position(up_to)))
        else:
            mark = parse_read_mark(up_to)
    except ValueError:
        detail = FieldError("upTo", "is neither a message key, a time nor a position", echo(up_to), MARK_FORM)
        raise InvalidRequest("upTo is neither a message key, a time nor a position", details=[detail]) from None
    if time_of(mark) > times.iso(now + AHEAD_LIMIT):
        allowed = f"at most 5 minutes ahead; the server's time is {times.iso(now)}"
        detail = FieldError("upTo", "is too far ahead", echo(up_to), allowed)
        raise InvalidRequest("upTo is too far ahead", details=[detail])
    return mark
