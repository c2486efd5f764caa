"""Conversations: the rooms that a user is or was in, newest activity first, with the last message and the unread count.

A list reads the user's memberships and the rows of their rooms. For each room of the page it also reads the last
message and, if that is unread, the messages after the read mark. A message writes nothing per member.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field
from typing_extensions import TypedDict

from headrace.api.paging.cursors import Query
from headrace.api.paging.range_walk import ReadBudget, ranges, read_page
from headrace.api.paging.request import ListRequest
from headrace.api.params import UserPath
from headrace.api.rates.rate_limiter import RateLimiter
from headrace.api.router import Request, Route
from headrace.core import times
from headrace.core.caller import CHAT_READ
from headrace.core.errors import InvalidCursor
from headrace.core.fields import CanonicalTime, Cursor, Number, whole_number
from headrace.core.keys import shown_read_mark, time_of
from headrace.features.unread.walks import Order, Walks
from headrace.runtime.aws import client
from headrace.runtime.settings import RoomSettings
from headrace.runtime.threads import Parallel
from headrace.services.reading import history
from headrace.services.requests import rate_limiter
from headrace.services.shared import cache
from headrace.storage.dynamodb.readers import DynamoReader
from headrace.storage.reading import RangeQuery, RangeReader
from headrace.streams.chat.messages.history import History
from headrace.streams.chat.messages.shards import MessageReader
from headrace.streams.chat.room_shards import shard_count
from headrace.streams.chat.rooms.access import check_own
from headrace.streams.chat.rooms.dynamodb import Memberships, RoomTable
from headrace.streams.chat.rooms.memberships import Membership, newest, state_of
from headrace.streams.chat.rooms.read_scope import ReadScope
from headrace.streams.chat.rooms.requests import MembershipState
from headrace.streams.chat.rooms.rooms import OPEN, Form, Room, RoomKind, Rooms
from headrace.streams.chat.stream import TEXT, MessageItem, ReadTo

ROOMS_LIMIT = 2000
"""Rooms of a user that a list covers: 20 reads of 100. A user with more sees the newest, and ``complete`` is false."""
ROOMS_PER_READ = 100
"""Rooms of a whole list that count as one read: so many rows DynamoDB reads at once."""
SHARDS_PER_READ = 50
"""Shards of a page's rooms, beyond the first of each, that count as one more read: as many as ``LIMIT`` other rooms."""
DEFAULT_LIMIT = 20
LIMIT = 50
AT_ONCE = 8
"""Conversations of a page that are read at once."""
UNREAD_LIMIT = 100
LAST_BUDGET = ReadBudget(reads=8, rows=1000)
UNREAD_BUDGET = ReadBudget(reads=4, rows=1000)
"""Reads that the count of a room may spend on messages that do not count. After them, ``unreadCapped`` is true."""
_COUNTED = ("timestampSk", "userId", "messageType", "deletedAt", "expiresAt")


class ConversationsQuery(ListRequest):
    """A page of a user's rooms."""

    limit: Number = whole_number(1, LIMIT, default=DEFAULT_LIMIT)
    place: Cursor | None = Field(default=None, alias="before", description="a cursor from an earlier page")


class Conversation(TypedDict):
    """A room that the user is or was in.

    ``joinedAt`` and ``leftAt`` are the beginnings and ends of the user's membership intervals, oldest first.
    ``activityAt`` is exact to the second. ``lastMessage`` is the newest message that the user may read. ``unread``
    counts the texts of others in the user's membership intervals after ``readTo``, or since the user first joined,
    without those that were deleted; it is exact up to 100, and with ``unreadCapped`` there may be more.
    """

    roomId: str
    kind: RoomKind
    form: Form
    name: str | None
    topic: str | None
    retentionDays: int | None
    membership: MembershipState
    joinedAt: list[CanonicalTime]
    leftAt: list[CanonicalTime]
    activityAt: CanonicalTime
    lastMessage: MessageItem | None
    unread: int
    unreadCapped: bool
    readTo: ReadTo | None


class ConversationPage(TypedDict):
    """A page of rooms, newest activity first. Send ``next`` as ``before`` for the next page.

    Rooms that the user left for good are not in it. ``complete`` is false for a user of more than 2,000 rooms; the list
    then has the 2,000 newest, those that the user is in first.
    """

    items: list[Conversation]
    next: Cursor | None
    hasMore: bool
    complete: bool


@dataclass(frozen=True, slots=True)
class ConversationServices:
    """What the list uses. Those of a page are read by several threads, for which ``reader`` has the connections."""

    history: History
    memberships: Memberships
    rooms: Rooms
    reader: RangeReader
    walks: Walks
    limiter: RateLimiter | None = None
    parallel: Parallel = field(default_factory=lambda: Parallel(AT_ONCE, "conversations"))


@functools.cache
def conversations() -> ConversationServices:
    settings, parallel = RoomSettings.read(), client("dynamodb", connections=2 * AT_ONCE)
    return ConversationServices(
        history(links=True),
        Memberships(parallel, settings.memberships_table),
        RoomTable(parallel, settings.rooms_table),
        MessageReader(DynamoReader(parallel)),
        Walks(cache()),
        rate_limiter(),
    )


@dataclass(frozen=True, slots=True)
class RoomView:
    """A room as one user sees it."""

    membership: Membership
    room: Room

    @property
    def place(self) -> tuple[str, str]:
        """The room's position in the list: its newest activity, then its id. A join counts as activity.

        A ``members`` room that the user has left stays at the time of the leave. The order must not reveal messages
        that the user may not read (P12).
        """
        last = self.membership.intervals[-1]
        if last.left_at is not None and self.room.kind != OPEN:
            return last.left_at, self.room.room_id
        return max(self.room.last_key or "", last.joined_at), self.room.room_id


def list_conversations(
    chat: ConversationServices, request: Request[UserPath, ConversationsQuery, None]
) -> dict[str, Any]:
    """List the rooms that the caller is or was in, newest activity first, with unread counts."""
    user_id, asked = request.path.user_id, request.query
    check_own(request.caller, user_id, "conversations are shown to their own user only")
    query = Query("conversations", user_id, user_id)
    after, order = None, None
    if asked.position is not None:
        field, cursor = asked.position
        after = chat.history.cursors.verify(cursor, query, field, parts=2, directions=("before",))
        order = chat.walks.find(user_id)
    views = dict[str, RoomView]()
    is_remembered = order is not None
    if order is None:
        order, views = _all_rooms(chat, request)
    places = [place for place in order.places if after is None or place < after]
    page, left = places[: asked.limit], places[asked.limit :]
    if is_remembered:
        views = _rooms_of(chat, user_id, [room_id for _, room_id in page])
    elif left:
        chat.walks.keep(user_id, order)
    shown = [views[room_id] for _, room_id in page if room_id in views]
    _count_reads(chat, request, sum(shard_count(room_id) - 1 for _, room_id in page) // SHARDS_PER_READ)
    return {
        "items": chat.parallel.map(lambda view: _item(chat, view, request.now), shown),
        "next": chat.history.cursors.sign(query, "before", page[-1]) if left else None,
        "hasMore": bool(left),
        "complete": order.is_complete,
    }


def _all_rooms(
    chat: ConversationServices, request: Request[UserPath, ConversationsQuery, None]
) -> tuple[Order, dict[str, RoomView]]:
    """The order of all rooms of the user, and the rooms. Each ``ROOMS_PER_READ`` of them count as one more read."""
    found, more = chat.memberships.rooms_of(request.path.user_id, ROOMS_LIMIT)
    _count_reads(chat, request, len(found) // ROOMS_PER_READ)
    views = _views(chat, found)
    places = sorted((view.place for view in views.values()), reverse=True)
    return Order(places, is_complete=not more), views


def _count_reads(chat: ConversationServices, request: Request[UserPath, ConversationsQuery, None], reads: int) -> None:
    """Count further reads of this request: what is over the limit delays the next one."""
    if chat.limiter is not None and reads:
        chat.limiter.admit(request.caller, reads, request.meter, "reads")


def _rooms_of(chat: ConversationServices, user_id: str, room_ids: Sequence[str]) -> dict[str, RoomView]:
    """These rooms of the user, as far as the user still sees them in the list. Raises StoreUnavailable."""
    found = chat.memberships.get_many([(user_id, room_id) for room_id in room_ids])
    return _views(chat, newest(found.values(), len(found))[0])


def _views(chat: ConversationServices, memberships: Sequence[Membership]) -> dict[str, RoomView]:
    rooms = chat.rooms.get_many([each.room_id for each in memberships])
    found = [(each, rooms[each.room_id]) for each in memberships]
    return {each.room_id: RoomView(each, room) for each, room in found if room is not None}


def _item(chat: ConversationServices, view: RoomView, now: int) -> dict[str, Any]:
    room, mark = view.room, view.membership.read_to
    message = _last_message(chat, view, now)
    unread, capped = 0, False
    if message is not None and (mark is None or message["timestampSk"] > mark):
        unread, capped = _unread(chat, view, now)
    return {
        "roomId": room.room_id,
        "kind": room.kind,
        "form": room.form,
        "name": room.name,
        "topic": room.topic,
        "retentionDays": room.retention.days,
        "membership": state_of(view.membership.intervals[-1]),
        "joinedAt": [each.joined_at for each in view.membership.intervals],
        "leftAt": [each.left_at for each in view.membership.intervals if each.left_at is not None],
        "activityAt": time_of(view.place[0]),
        "lastMessage": None if message is None else chat.history.item_of(message),
        "unread": unread,
        "unreadCapped": capped,
        "readTo": None if mark is None else shown_read_mark(mark),
    }


def _last_message(chat: ConversationServices, view: RoomView, now: int) -> Mapping[str, Any] | None:
    """The newest message that the user may see."""
    scope = ReadScope(None if view.room.kind == OPEN else view.membership.intervals, lambda: view.room.retention)
    queries = ranges(_rows(chat, view), scope.spans(now), None, True)
    found = read_page(chat.reader, queries, 1, now // times.SECOND, LAST_BUDGET)
    return found.items[0] if found.items else None


def _unread(chat: ConversationServices, view: RoomView, now: int) -> tuple[int, bool]:
    """The number of unread messages, and whether there may be more. Only texts of others count."""
    mark, user_id = view.membership.read_to, view.membership.user_id
    place = None if mark is None else {"timestampSk": mark}
    scope = ReadScope(view.membership.intervals, lambda: view.room.retention)
    queries = ranges(_rows(chat, view, _COUNTED), scope.spans(now), place, False)

    def counts(row: Mapping[str, Any]) -> bool:
        return bool(row["userId"] != user_id and row["messageType"] == TEXT and "deletedAt" not in row)

    found = read_page(chat.reader, queries, UNREAD_LIMIT, now // times.SECOND, UNREAD_BUDGET, counts)
    return len(found.items), found.more is not None


def _rows(chat: ConversationServices, view: RoomView, attributes: tuple[str, ...] = ()) -> RangeQuery:
    room_id = view.room.room_id
    return RangeQuery(chat.history.table, "roomId", room_id, "timestampSk", consistent=True, attributes=attributes)


READ, LIST = (CHAT_READ,), (InvalidCursor,)
ROUTES = {
    "read_chat": {
        "GET /users/{userId}/rooms": Route(
            list_conversations, READ, UserPath, ConversationsQuery, None, ConversationPage, LIST, services=conversations
        )
    }
}
