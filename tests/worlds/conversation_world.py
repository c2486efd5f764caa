"""Rooms, memberships, messages and conversations in memory."""

from __future__ import annotations

from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.params import UserPath, read
from headrace.core.caller import Caller
from headrace.features.unread.conversations import (
    DEFAULT_LIMIT,
    ConversationServices,
    ConversationsQuery,
    list_conversations,
)
from headrace.features.unread.read_marks import ReadMarkBody, mark_read
from headrace.features.unread.walks import Walks
from headrace.streams.chat.messages.history import History
from headrace.streams.chat.messages.hooks import ActivityHook
from headrace.streams.chat.rooms.channels import Channels
from headrace.streams.chat.rooms.memberships import Change, EventKind, membership_event
from headrace.streams.chat.rooms.requests import RoomPath
from headrace.streams.chat.rooms.rooms import Room, RoomKind
from headrace.streams.chat.rooms.routes import RoomServices
from tests.fakes.chat import MemoryMemberships, MemoryRooms
from tests.fakes.clock import FixedClock
from tests.fakes.storage import MemoryCache, MemoryReader
from tests.worlds.history_world import START, at, no_expiry, row
from tests.worlds.requests import request_of
from tests.worlds.senders import caller


class ConversationWorld:
    """One stage in memory. Times are seconds after ``history_world.START``."""

    def __init__(self, now: float = 1000) -> None:
        self.clock = FixedClock(START)
        self.clock.advance(now)
        self.rooms, self.memberships, self.rows = MemoryRooms(), MemoryMemberships(), list[dict[str, Any]]()
        self.hook = ActivityHook(self.rooms, self.rooms, no_expiry, self.clock)
        self.reader = MemoryReader(lambda _: self.rows)
        self.cache = MemoryCache(self.clock)
        cursors, unused = CursorSigner(b"k" * 32), Any
        self.marks = RoomServices(unused, self.memberships, *[unused] * 5, Channels(), *[unused] * 4)
        history = History(self.reader, cursors, "messages", self.clock, unused)
        self.chat = ConversationServices(history, self.memberships, self.rooms, self.reader, Walks(self.cache))

    def room(self, room_id: str, kind: RoomKind = "members") -> None:
        self.rooms.create(Room(room_id, kind, "group", at(0), "owner"))

    def change(self, kind: EventKind, user: str, room: str, second: float) -> None:
        event = membership_event(at(second), f"e{len(self.memberships.rows)}")
        self.memberships.add(Change(user_id=user, room_id=room, kind=kind, event=event))

    def join(self, user: str, room: str, second: float = 0) -> None:
        self.change("join", user, room, second)

    def leave(self, user: str, room: str, second: float) -> None:
        self.change("leave", user, room, second)

    def store_messages(self, room: str, *seconds: float, user: str = "bob", **more: Any) -> list[str]:
        """Store messages as one batch; returns their keys."""
        first = len(self.rows)
        new = [row(second, f"m{first + n}", room=room, user=user, **more) for n, second in enumerate(seconds)]
        self.rows += new
        assert self.hook.after_store(new) == [None] * len(new)
        return [each["timestampSk"] for each in new]

    def page(self, limit: int = DEFAULT_LIMIT, before: str | None = None, who: Caller | None = None) -> dict[str, Any]:
        return self.page_of(who or caller(), ConversationsQuery(limit=limit, before=before))

    def page_of(self, who: Caller, query: ConversationsQuery, user_id: str = "alice") -> dict[str, Any]:
        path = UserPath(userId=user_id)
        return list_conversations(self.chat, request_of(who, self.clock.now(), path, query))

    def only(self) -> dict[str, Any]:
        """The only conversation."""
        (item,) = self.page()["items"]
        return dict(item)

    def walk(self, limit: int) -> list[str]:
        """The rooms of all pages."""
        found: list[str] = []
        before = None
        while True:
            page = self.page(limit, before)
            found += [item["roomId"] for item in page["items"]]
            if not page["hasMore"]:
                assert page["next"] is None
                return found
            before = page["next"]

    def read(self, room: str, up_to: object) -> str:
        path, body = RoomPath(roomId=room), read(ReadMarkBody, {"upTo": up_to})
        answer = mark_read(self.marks, request_of(caller(), self.clock.now(), path, body=body))
        assert answer["roomId"] == room
        return str(answer["readTo"])
