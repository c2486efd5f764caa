"""A chat stage in memory whose environments remember rooms, so that they learn late how long a room keeps messages."""

from __future__ import annotations

import json
from typing import Any

from headrace.api.paging.newest_page_cache import NewestPageCache
from headrace.api.paging.request import ListRequest, PageRequest
from headrace.core.items import Item
from headrace.core.json import encode_object
from headrace.core.keys import time_of
from headrace.core.sender import SenderContext
from headrace.core.times import DAY, SECOND, iso, micros_of
from headrace.delivery.row_writer import Hooks
from headrace.features.replies.routes import list_replies
from headrace.stage.registry import subject_of
from headrace.streams.chat.messages.check import MessageCheck
from headrace.streams.chat.messages.history import ChatReading, History
from headrace.streams.chat.messages.hooks import ActivityHook, LiveHook
from headrace.streams.chat.messages.shards import MessageReader
from headrace.streams.chat.rooms.access import RoomAccess
from headrace.streams.chat.rooms.requests import MessagePath
from headrace.streams.chat.rooms.rooms import CachedRooms
from headrace.streams.chat.stream import MESSAGE
from tests.fakes.files import memory_attachments
from tests.fakes.live import MemoryRoomLog
from tests.fakes.storage import MemoryCache, MemoryReader
from tests.worlds.chat_world import ChatWorld
from tests.worlds.history_world import body
from tests.worlds.message_changes import EDIT, MessageChanges, accept
from tests.worlds.requests import request_of
from tests.worlds.room_world import caller
from tests.worlds.senders import CHAT, TABLE
from tests.worlds.write_path import MESSAGES, chat_batch, put_or_find

ROOM = "kitchen"


class RetentionWorld(ChatWorld):
    """Alice owns the room ``kitchen``, in which bob is. Bob reads, in an environment that stays."""

    def __init__(self, kind: str = "members", **room: Any) -> None:
        super().__init__()
        self.ok("alice", "PUT", ROOM, {"kind": kind, **room})
        if kind == "members":
            self.bring("alice", ROOM, "bob")
        else:
            self.ok("bob", "PUT", f"{ROOM}/members/bob")
        self.wait(60 * DAY / SECOND)
        self.write_path.broker.take()
        self.live.sent.clear()
        self.cache = MemoryCache(self.clock)
        self.log = MemoryRoomLog(self.cache)
        self.persist = self.new_persist()
        self.read = self.new_reader()

    def keep(self, days: int | None, user: str = "alice") -> Any:
        """Change the retention of the room."""
        return self.ok(user, "PATCH", ROOM, {"retentionDays": days})

    def cached_rooms(self) -> CachedRooms:
        return CachedRooms(self.rooms, seconds=lambda: self.clock.now() / SECOND)

    def new_reader(self) -> ChatReading:
        """read_chat in a new environment."""
        rooms = self.cached_rooms()
        access = RoomAccess(rooms, self.memberships)
        reader = MessageReader(MemoryReader(self.write_path.store.rows))
        cursors, newest = self.history.cursors, NewestPageCache(self.cache, self.clock)
        history = History(reader, cursors, TABLE.table, self.clock, access, newest, self.log)
        return ChatReading(history, rooms.table, self.changes)

    def new_persist(self) -> tuple[Hooks, Hooks]:
        """persist_events in a new environment: the hooks before storing, and those after it."""
        rooms = self.cached_rooms()
        messages = MessageCheck(rooms, self.memberships, self.clock)
        live = LiveHook(self.log, self._all(), lambda: self.live, self.clock, self.changes.set_stored)
        activity = ActivityHook(self.rooms, rooms, self.changes.set_expiry, self.clock, lambda: 0.0)
        changes = self.message_changes(rooms, live)
        after = ((MESSAGE, live.after_store), *changes.after, (MESSAGE, activity.after_store))
        return ((MESSAGE, messages.before_store), *changes.before), after

    def message_changes(self, rooms: CachedRooms, live: LiveHook | None = None) -> MessageChanges:
        return MessageChanges(self.changes, rooms, self.memberships, memory_attachments, self.clock, live)

    def _all(self) -> Any:
        class Hints:
            @staticmethod
            def rooms_with_subscribers(rooms: dict[str, Any]) -> dict[str, str]:
                return dict.fromkeys(rooms, "")

        return Hints()

    def sender(self, user: str) -> SenderContext:
        return SenderContext(user, user.title(), True, self.clock.now())

    def message(
        self, number: int, days: float = 0, user: str = "alice", room: str = ROOM, **more: Any
    ) -> dict[str, Any]:
        """The event of a message of ``days`` ago."""
        raw = {"roomId": room, "messageId": f"m-{number}", "message": f"text {number}", **more}
        raw["timestamp"] = iso(self.clock.now() - round(days * DAY))
        return CHAT.accept(raw, self.sender(user)).event

    def change(self, message: dict[str, Any], text: str | None, user: str = "alice") -> dict[str, Any]:
        """The event of an edit, or without ``text`` of a deletion."""
        raw = {"roomId": message["roomId"], "key": self.key(message), "change": "edit" if text else "delete"}
        raw |= {"timestamp": iso(self.clock.now()), **({"message": text} if text else {})}
        return accept(raw, self.sender(user)).event

    def refusal(self, change: dict[str, Any], user: str = "alice") -> str:
        """The class of the error that refuses a change when it is accepted; "" without one."""
        gate = self.message_changes(self.cached_rooms()).gates[EDIT]
        (error,) = gate.admit(caller(user), [accept(without_stamps(change), self.sender(user))], self.clock.now())
        return "" if error is None else type(error).__name__

    def store(self, *events: dict[str, Any]) -> list[Item]:
        """Store events, as both lanes do; their rows."""
        before, after = self.persist
        batch = chat_batch(events, self.clock.now())
        batch.run(before)
        put_or_find(self.write_path.store, batch, self.message_changes(self.cached_rooms()).known)
        assert not any(batch.reasons)
        batch.run(after)
        return [self.write_path.store.tables[TABLE.table][MESSAGES.key_of(item)] for item in batch.items]

    def pushed(self, _connection: str = "") -> list[str]:
        """The texts of live copies since the last call."""
        copies = [json.loads(each.body) for each in self.live.sent]
        self.live.sent.clear()
        return [item["message"] for copy in copies for item in copy["items"]]

    def texts(self, user: str = "bob", limit: int = 100) -> list[str]:
        """The texts of the newest page of the room, oldest first."""
        page = self.read.history.room(caller(user), ROOM, PageRequest(limit=limit))
        return [item["message"] for item in body(page)["items"]][::-1]

    def of_user(self, user: str, reader: str) -> list[str]:
        page = self.read.history.user(caller(reader), user, PageRequest(limit=100))
        return [item["message"] for item in body(page)["items"]][::-1]

    def replies(self, message: dict[str, Any], user: str = "bob", limit: int = 2) -> list[str]:
        """The texts of all pages of replies to a message."""
        path, found, after = MessagePath(roomId=message["roomId"], key=self.key(message)), list[str](), None
        while True:
            query = ListRequest(limit=limit, after=after)
            page = list_replies(self.read, request_of(caller(user), self.clock.now(), path, query))
            shown = json.loads(encode_object(page))
            found += [item["message"] for item in shown["items"]]
            if not shown["hasMore"]:
                return found
            after = shown["next"]

    @staticmethod
    def key(message: dict[str, Any]) -> str:
        key: str = CHAT.item(message, 0, TABLE)["timestampSk"]
        return key

    def days_of(self, row: Item) -> float:
        """Days from a message until its row, or that of its change, expires."""
        return (row["expiresAt"] * SECOND - micros_of(time_of(subject_of(row)[1]))) / DAY


def without_stamps(change: dict[str, Any]) -> dict[str, Any]:
    return {name: change[name] for name in ("roomId", "key", "change", "message", "timestamp") if name in change}
