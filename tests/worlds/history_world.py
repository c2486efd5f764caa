"""Rooms of messages in memory, who may read them, and their pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.paging.newest_page_cache import NewestPageCache
from headrace.api.paging.pager import Page
from headrace.core import keys, times
from headrace.core.caller import Caller
from headrace.core.errors import Forbidden
from headrace.core.json import encode_object
from headrace.core.times import Interval
from headrace.streams.chat.messages.history import History
from headrace.streams.chat.rooms.access import RoomAccess, not_in_room
from headrace.streams.chat.rooms.read_scope import ReadScope
from tests.fakes.clock import FixedClock
from tests.fakes.storage import MemoryReader

START = times.parse_iso("2025-11-21T10:00:00Z")
ALICE = Caller("alice", "Alice", frozenset({"chat:read"}), START // times.SECOND + 3600)
TAG = keys.sender_tag("alice")


def row(
    second: float, message_id: str, *, room: str = "lobby", user: str = "alice", tag: str = TAG, **more: Any
) -> dict[str, Any]:
    timestamp = at(second)
    return {
        "roomId": room,
        "timestampSk": keys.timestamp_sk(timestamp, message_id, tag),
        "messageId": message_id,
        "timestamp": timestamp,
        "userId": user,
        "username": user.title(),
        "message": f"text of {message_id}",
        "messageType": "TEXT",
        "bucketId": "001",
        **more,
    }


class Rights:
    """Access in memory: ``intervals`` by room; other rooms are open. ``None``: never in the room."""

    def __init__(self, **intervals: tuple[Interval, ...] | None) -> None:
        self.intervals = intervals
        self.asked: list[str] = []

    def read_scope(self, caller: Caller, room_id: str) -> ReadScope:
        self.asked.append(room_id)
        if room_id not in self.intervals:
            return ReadScope(None)
        intervals = self.intervals[room_id]
        if intervals is None:
            raise not_in_room(room_id)
        return ReadScope(intervals)

    def read_scopes(self, caller: Caller, room_ids: Sequence[str]) -> dict[str, ReadScope | None]:
        found: dict[str, ReadScope | None] = {}
        for room_id in room_ids:
            try:
                found[room_id] = self.read_scope(caller, room_id)
            except Forbidden:
                found[room_id] = None
        return found

    def whole_rooms(self, room_ids: Sequence[str]) -> dict[str, ReadScope]:
        return {room_id: ReadScope(None) for room_id in room_ids}


def history(
    rows: list[dict[str, Any]],
    clock: times.Clock | None = None,
    access: RoomAccess | None = None,
    newest: NewestPageCache | None = None,
) -> History:
    reader, clock = MemoryReader(lambda _: rows), clock or FixedClock(START)
    return History(reader, CursorSigner(b"k" * 32), "messages", clock, access or Rights(), newest)


def at(second: float) -> str:
    return times.iso(START + round(second * times.SECOND))


def interval(joined: float, left: float | None = None) -> Interval:
    return Interval(at(joined), None if left is None else at(left))


def body(page: Page) -> dict[str, Any]:
    """A page as its reader gets it."""
    found: dict[str, Any] = json.loads(encode_object(page.to_body()))
    return found


def ids(page: dict[str, Any]) -> list[str]:
    return [item["messageId"] for item in page["items"]]


def no_expiry(*_arguments: Any) -> None:
    """No room of this world has a retention."""
    raise AssertionError
