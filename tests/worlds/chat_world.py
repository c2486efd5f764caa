"""A whole chat stage in memory: rooms, sending, storing, reading, live messages."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.paging.request import PageRequest
from headrace.api.params import UserPath
from headrace.api.router import Api, frame_handler, http_handler
from headrace.bootstrap.api import ACTIONS
from headrace.core.envelope import decode
from headrace.core.errors import HeadraceError
from headrace.core.times import MINUTE, SECOND, iso
from headrace.delivery.acceptor import Acceptor
from headrace.features.unread.conversations import ConversationServices, ConversationsQuery, list_conversations
from headrace.features.unread.walks import Walks
from headrace.live.hints import SubscriberHints
from headrace.live.presence import LastChecks
from headrace.live.push_service import PushService
from headrace.live.shares import Shares
from headrace.streams.chat.live.subscriptions import Subscriptions
from headrace.streams.chat.messages.history import ChatReading, History
from headrace.streams.chat.messages.hooks import ActivityHook, LiveHook
from headrace.streams.chat.messages.known import KnownMessages
from headrace.streams.chat.stream import MESSAGE
from tests.fakes.changes import MemoryChanges
from tests.fakes.commands import MemoryCommands
from tests.fakes.live import MemoryPusher, MemoryRoomLog
from tests.fakes.storage import MemoryCache, MemoryReader
from tests.worlds.functions import routes_of
from tests.worlds.history_world import body
from tests.worlds.requests import http_event, request_of
from tests.worlds.room_world import caller
from tests.worlds.senders import TABLE
from tests.worlds.whole_room_world import WholeRoomWorld
from tests.worlds.write_path import QUEUES, chat_batch, frame_event, put_or_find

TAGS = re.compile(r'(?<="follows":")[0-9a-f]{12}|(?<=p[0-9]{16}-)[0-9a-f]{12}')


class ChatWorld(WholeRoomWorld):
    """A stage whose answers depend on the requests and the clock only."""

    def __init__(self) -> None:
        super().__init__()
        broker, retry = self.write_path.broker, self.write_path.retry
        self.sending = Acceptor(broker, retry, QUEUES, self.clock, self.gates)
        self.pusher = MemoryPusher()
        cache = MemoryCache(self.clock)
        log = MemoryRoomLog(cache)
        hints = SubscriberHints(cache, self.connections)
        self.changes = MemoryChanges(self.write_path.store.tables[TABLE.table])
        activity = ActivityHook(self.rooms, self.rooms, self.changes.set_expiry, self.clock, lambda: 0.0)
        self.hooks = [activity, LiveHook(log, hints, lambda: self.live, self.clock, self.changes.set_stored)]
        self.push_service = PushService(self.connections, self.pusher, lambda: self.clock.now() / SECOND)
        reader, cursors = MemoryReader(self.write_path.store.rows), CursorSigner(b"k" * 32)
        self.history = History(reader, cursors, TABLE.table, self.clock, self.access, log=log)
        shares, checks = Shares(MemoryCommands(), self.connections), LastChecks(cache)
        self.subscriptions = Subscriptions(self.connections, hints, self.access, self.history, shares, checks)
        self.chat = ChatReading(self.history, self.rooms, self.changes)
        walks = Walks(MemoryCache(self.clock))
        self.conversations = ConversationServices(self.history, self.memberships, self.rooms, reader, walks)

    def send(self, user: str, room: str, message_id: str, **more: Any) -> int:
        """Status of a message of a user, which is stored and pushed at once if it is accepted."""
        message = {"roomId": room, "messageId": message_id, "message": "hello"}
        batch = {"events": [{"timestamp": iso(self.clock.now()), **message, **more}]}
        http = http_handler(Api(routes_of("receive_http"), lambda: self.sending, self.clock))
        return int(http(http_event("POST /messages/batch", batch, user=user, scope=SCOPES))["statusCode"])

    def subscribe(self, user: str, room: str, connection: str) -> dict[str, Any]:
        """The answer to a subscription."""
        event = frame_event({"roomId": room}, subject=user, scope="chat:read")
        event["requestContext"] |= {"connectionId": connection, "connectedAt": self.clock.now() // 1000}
        event["requestContext"]["routeKey"] = "subscribe"
        frames = frame_handler(Api(routes_of("read_frame"), lambda: self.subscriptions, self.clock), actions=ACTIONS)
        found: dict[str, Any] = json.loads(frames(event)["body"])
        return found

    def settle(self) -> None:
        """Store everything that was accepted, and push it."""
        events = [event for each in self.write_path.broker.take() for event in decode(each).events]
        batch = chat_batch(events, self.clock.now())
        batch.run([(MESSAGE, self.check.before_store)])
        put_or_find(self.write_path.store, batch, KnownMessages(self.changes, list).known)
        batch.run([(MESSAGE, hook.after_store) for hook in self.hooks])
        assert not any(batch.reasons)
        records = [{"data": base64.b64encode(each.body).decode()} for each in self.live.sent]
        self.live.sent.clear()
        self.push_service.push({"eventSource": "aws:rmq", "rmqMessagesByQueue": {"live.0::/": records}})

    def rooms_of(self, user: str) -> list[dict[str, Any]]:
        """All conversations of a user."""
        found: list[dict[str, Any]] = []
        place = None
        while True:
            asked = UserPath(userId=user), ConversationsQuery(limit=3, before=place)
            page = list_conversations(self.conversations, request_of(caller(user), self.clock.now(), *asked))
            found += page["items"]
            if not page["hasMore"]:
                assert page["complete"]
                return found
            place = page["next"]

    def read_room(self, user: str, room: str) -> list[dict[str, Any]] | str:
        """All messages of a room that a user may read, or the code of the refusal."""
        return self._walk(lambda request: self.history.room(caller(user), room, request))

    def read_user(self, user: str, other: str) -> list[dict[str, Any]] | str:
        """All messages in the history of another user that a user may read."""
        return self._walk(lambda request: self.history.user(caller(user), other, request))

    def _walk(self, page_of: Any) -> list[dict[str, Any]] | str:
        found: list[dict[str, Any]] = []
        place = None
        while True:
            try:
                page = body(page_of(PageRequest(limit=5, before=place)))
            except HeadraceError as error:
                return type(error).__name__
            found += page["items"]
            if not page["hasMore"]:
                return found
            place = page["next"]

    def pushed(self, connection: str) -> list[dict[str, Any]]:
        """The frames that a connection received, with their random tags replaced by numbers."""
        numbers: dict[str, str] = {}

        def numbered(tag: re.Match[str]) -> str:
            return numbers.setdefault(tag[0], f"tag {len(numbers)}")

        return [json.loads(TAGS.sub(numbered, frame.decode())) for frame in self.pusher.sent.get(connection, [])]

    def wait(self, seconds: float) -> None:
        """Let time pass, also for caches of what exists."""
        self.clock.advance(seconds)
        self.gate_time += seconds


SCOPES = "chat:write chat:read"
"""Those of an ordinary user."""
LONG = 6 * MINUTE / SECOND
"""Seconds after which joins are not published again."""
