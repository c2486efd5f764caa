"""The route of who reacted to a message, for those who may read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import TypedDict

from headrace.api.paging.cursors import Query
from headrace.api.paging.range_walk import ALL_KEYS, ranges, read_page
from headrace.api.paging.request import ListRequest
from headrace.api.router import Request, Route
from headrace.core import times
from headrace.core.caller import CHAT_READ
from headrace.core.errors import InvalidCursor, NotFound
from headrace.core.fields import CanonicalTime, Cursor
from headrace.features.reactions.reaction import VALUE, reactions_partition
from headrace.storage.reading import RangeQuery
from headrace.streams.chat.messages.history import ROOM_BUDGET, ChatReading, readable_message
from headrace.streams.chat.rooms.requests import MessagePath


class Reaction(TypedDict):
    """The reaction of a user, with the value as it was sent, and its ``timestamp``."""

    userId: str
    value: str
    timestamp: CanonicalTime


class ReactionPage(TypedDict):
    """A page of reactions, one for each user; ``next`` leads to others."""

    items: list[Reaction]
    next: Cursor | None
    hasMore: bool


def list_reactions(chat: ChatReading, request: Request[MessagePath, ListRequest, None]) -> dict[str, Any]:
    """List who reacted to a message, each user once. The order is that of the users' ids, backwards."""
    room_id, key, asked = request.path.room_id, request.path.key, request.query
    message = readable_message(chat, request)
    partition = reactions_partition(room_id, key)
    query = Query("reactions", partition, request.caller.subject)
    after = asked.after(chat.history.cursors, query)
    if "deletedAt" in message:
        return {"items": [], "next": None, "hasMore": False}
    rows = RangeQuery(chat.history.table, "roomId", partition, "timestampSk", consistent=True)
    # Backwards, so that the last reaction of a user comes before those that it replaces.
    place = None if after is None else {"timestampSk": f"{after}#"}
    seen: set[str] = set()

    def counts(row: Mapping[str, Any]) -> bool:
        is_last = row["changedBy"] not in seen
        seen.add(row["changedBy"])
        return is_last and VALUE in row

    now = request.now // times.SECOND
    found = read_page(chat.history.reader, ranges(rows, [ALL_KEYS], place, True), asked.limit, now, ROOM_BUDGET, counts)
    items = [{"userId": row["changedBy"], VALUE: row[VALUE], "timestamp": row["timestamp"]} for row in found.items]
    last = None if found.more is None else found.more["timestampSk"].partition("#")[0]
    following = None if last is None else chat.history.cursors.sign(query, "after", [last])
    return {"items": items, "next": following, "hasMore": following is not None}


PAGE = (InvalidCursor, NotFound)
ROUTES = {
    "read_chat": {
        "GET /rooms/{roomId}/messages/{key}/reactions": Route(
            list_reactions, (CHAT_READ,), MessagePath, ListRequest, answer=ReactionPage, errors=PAGE
        )
    }
}
