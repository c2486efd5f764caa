"""Pages of replies. They are read from an index of the messages, so edits, deletions and expiry apply."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from headrace.api.paging.cursors import Query
from headrace.api.paging.pager import cut
from headrace.api.paging.range_walk import ranges, read_page
from headrace.api.paging.request import PAGE_BYTES, ListRequest
from headrace.api.router import Request, Route
from headrace.core import times
from headrace.core.caller import CHAT_READ
from headrace.core.errors import InvalidCursor, NotFound
from headrace.core.fields import Cursor
from headrace.core.json import encode, encoded_list
from headrace.features.replies.field import thread
from headrace.storage.reading import RangeQuery
from headrace.streams.chat.messages.history import ROOM_BUDGET, ChatReading
from headrace.streams.chat.rooms.access import no_room
from headrace.streams.chat.rooms.requests import MessagePath
from headrace.streams.chat.stream import REPLY_INDEX, THREAD, MessageItem


class ReplyPage(TypedDict):
    """A page of replies, oldest first; ``next`` leads to newer ones."""

    items: list[MessageItem]
    next: Cursor | None
    hasMore: bool


def list_replies(chat: ChatReading, request: Request[MessagePath, ListRequest, None]) -> dict[str, Any]:
    """List the replies to a message, oldest first, as far as the caller may read them.

    The message itself can be missing, deleted or expired. A reply is in the list milliseconds after it is stored.
    """
    room_id, caller, asked = request.path.room_id, request.caller, request.query
    thread_id = thread(room_id, request.path.key)
    scope = chat.history.access.read_scope(caller, room_id)
    if not scope.exists:
        raise no_room(room_id)
    query = Query("replies", thread_id, caller.subject)
    after = asked.after(chat.history.cursors, query)
    # The key to continue after has the keys of the table too.
    place = None if after is None else {"timestampSk": after, "roomId": room_id}
    rows = RangeQuery(chat.history.table, THREAD, thread_id, "timestampSk", index=REPLY_INDEX)
    spans = ranges(rows, scope.spans(request.now), place, False)
    found = read_page(chat.history.reader, spans, asked.limit, request.now // times.SECOND, ROOM_BUDGET)
    items = [encode(chat.history.item_of(row)) for row in found.items]
    count = cut(items, PAGE_BYTES)
    more = found.items[count - 1] if count < len(items) else found.more
    following = None if more is None else chat.history.cursors.sign(query, "after", [more["timestampSk"]])
    return {"items": encoded_list(items[:count]), "next": following, "hasMore": following is not None}


ROUTES = {
    "read_chat": {
        "GET /rooms/{roomId}/messages/{key}/replies": Route(
            list_replies, (CHAT_READ,), MessagePath, ListRequest, answer=ReplyPage, errors=(InvalidCursor, NotFound)
        )
    }
}
