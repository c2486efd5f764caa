"""Every reader of a chat room in memory, and what each has shown of a message: its version never falls."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.paging.request import ListRequest, PageRequest
from headrace.api.params import UserPath
from headrace.core.json import encode_object
from headrace.features.edits.versions import VersionServices, list_versions
from headrace.features.people.exports.room import RoomSources
from headrace.features.people.exports.tasks import Task
from headrace.features.people.exports.user import UserSources
from headrace.features.people.hashes import ROOM as OF_A_ROOM
from headrace.features.reactions.reactors import list_reactions
from headrace.features.replies.routes import list_replies
from headrace.features.tell.told import tells
from headrace.features.unread.conversations import ConversationServices, ConversationsQuery, list_conversations
from headrace.features.unread.walks import Walks
from headrace.storage.dynamodb.client import from_wire, to_wire
from headrace.streams.chat.messages.dynamodb import MessageTable
from headrace.streams.chat.messages.history import ChatReading, History
from headrace.streams.chat.messages.shards import MessageReader
from headrace.streams.chat.rooms.requests import MessagePath
from tests.fakes.storage import MemoryCache, MemoryReader
from tests.worlds.change_world import ChangeWorld
from tests.worlds.requests import request_of
from tests.worlds.room_world import caller
from tests.worlds.senders import TABLE

ROOM = "kitchen"
TELL = tells()["chat"]
PAGE = PageRequest(limit=100)
Version = tuple[int, str]


def version(item: Mapping[str, Any]) -> Version:
    """The version of a text: the first one, then edits by their times, then the deletion."""
    if "deletedAt" in item:
        return 2, item["deletedAt"]
    return (1, item["editedAt"]) if "editedAt" in item else (0, "")


def counted(item: Mapping[str, Any]) -> Version:
    """The version of the reactions that an item shows."""
    return (1, "") if "deletedAt" in item else (0, item.get("reactionsAt", ""))


class Readers:
    """The readers of ``world``; alice reads."""

    def __init__(self, world: ChangeWorld) -> None:
        self._world = world
        reader, cursors = MessageReader(MemoryReader(world.write_path.store.rows)), CursorSigner(b"k" * 32)
        history = History(reader, cursors, TABLE.table, world.clock, world.access, log=world.copies.log)
        walks = Walks(MemoryCache(world.clock))
        self._chat = ChatReading(history, world.rooms, world.store)
        self._conversations = ConversationServices(history, world.memberships, world.rooms, reader, walks)
        self._versions = VersionServices(self._chat, world.store)
        self._rows: dict[Any, Any] = {}
        self._seen: dict[tuple[str, str], Version] = {}
        self._looks = 0

    def look(self) -> None:
        """Read with every reader; exports, which cost most of the time, now and then."""
        history = self._chat.history
        items = json.loads(encode_object(history.room(caller("alice"), ROOM, PAGE).to_body()))["items"]
        since = json.loads(encode_object(history.room(caller("alice"), ROOM, PAGE, 0).to_body()))["items"]
        assert since == items
        self._show("history", items)
        for user in ("alice", "bob"):
            own = json.loads(encode_object(history.user(caller("alice"), user, PAGE).to_body()))["items"]
            self._show("user history", own)
            assert own == [item for item in items if item["userId"] == user]
        for item in items:
            path = MessagePath(roomId=ROOM, key=item["key"])
            if "replyTo" in item:
                parent = MessagePath(roomId=ROOM, key=item["replyTo"])
                self._show(
                    "replies", json.loads(encode_object(self._ask(list_replies, parent, ListRequest())))["items"]
                )
            if item["userId"] == "alice":
                texts = self._ask(list_versions, path, services=self._versions)["items"]
                self._raise("versions", item["key"], (0, f"{len(texts):05d}") if texts else (2, ""))
                assert texts == [] or "deletedAt" not in item
            reactors = self._ask(list_reactions, path, ListRequest())["items"]
            if "deletedAt" in item:
                assert reactors == []
        self._show_conversations(items)
        self._looks += 1
        if self._looks % 8 == 0:
            self._export(items)

    def _export(self, items: list[dict[str, Any]]) -> None:
        """The messages of an export of the room by its owner, and of one of each user."""
        world = self._world
        reader = MessageReader(MemoryReader(world.write_path.store.rows))
        room = RoomSources(world.rooms, world.memberships, reader, TABLE.table, lambda _seen: [], world.clock)
        found = room.of(Task(OF_A_ROOM, ROOM, "alice", ""))
        assert found is not None
        lines = [line for source in found[0] for page, _ in source(None) for kind, line in page if kind == "messages"]
        self._show("export of the room", lines)
        assert sorted(line["key"] for line in lines) == sorted(item["key"] for item in items)
        rooms = MessageTable(_Client(world), TABLE.table, "messages")
        user = UserSources(rooms, rooms, rooms, rooms, lambda _user, _skier: [])
        for user_id in ("alice", "bob"):
            (messages, *_), _ = user.of(Task("user", user_id, None, ""))
            rows = [line | {"key": line["timestampSk"]} for page, _ in messages(None) for _, line in page]
            self._show("export of the user", rows)
            assert {row["key"] for row in rows} == {item["key"] for item in items if item["userId"] == user_id}

    def _show_conversations(self, items: list[dict[str, Any]]) -> None:
        (found,) = (
            each
            for each in self._ask(
                list_conversations, UserPath(userId="alice"), ConversationsQuery(), self._conversations
            )["items"]
            if each["roomId"] == ROOM
        )
        self._show("last message", [found["lastMessage"]] if found["lastMessage"] else [])
        joined_at = self._world.memberships.get_many([("alice", ROOM)])["alice", ROOM].intervals[0].joined_at
        others = [item for item in items if item["userId"] != "alice" and item["timestamp"] >= joined_at]
        assert found["unread"] == len([item for item in others if "deletedAt" not in item])

    def hear(self) -> None:
        """Show the events for others that come from the rows that changed since the last call."""
        rows = self._world.write_path.store.tables[TABLE.table]
        for place, row in rows.items():
            before = self._rows.get(place)
            if before != row and (told := TELL(before, row)) is not None:
                self._show("told", [told.data])
        self._rows = {place: dict(row) for place, row in rows.items()}

    def _ask(
        self, route: Callable[..., dict[str, Any]], path: Any, query: Any = None, services: Any = None
    ) -> dict[str, Any]:
        return route(services or self._chat, request_of(caller("alice"), self._world.clock.now(), path, query))

    def _show(self, reader: str, items: list[dict[str, Any]]) -> None:
        for item in items:
            self._raise(reader, item["key"], version(item))
            self._raise(f"reactions of {reader}", item["key"], counted(item))

    def _raise(self, reader: str, key: str, found: Version) -> None:
        before = self._seen.get((reader, key), found)
        assert found >= before, f"{reader} showed version {before} of {key}, and then {found}"
        self._seen[reader, key] = found


class _Client:
    """DynamoDB's client for queries of a whole partition, of the table in memory."""

    meta = SimpleNamespace(config=SimpleNamespace(proxies={"http": "one"}))
    """With a proxy, boto3's client makes all calls, also where a test before has set credentials."""

    def __init__(self, world: ChangeWorld) -> None:
        self._rows = world.write_path.store.tables[TABLE.table]

    def query(self, **asked: Any) -> dict[str, Any]:
        attribute = asked["KeyConditionExpression"].split()[0]
        value = from_wire(asked["ExpressionAttributeValues"])[":v"]
        rows = [to_wire(row) for row in self._rows.values() if row.get(attribute) == value]
        return {"Items": rows, "ResponseMetadata": {"RequestId": ""}}
