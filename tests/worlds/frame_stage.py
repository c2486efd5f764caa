"""Rooms, their messages, and an environment of read_frame, in memory."""

from __future__ import annotations

import json
from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.rates.rate_limiter import RateLimiter
from headrace.api.router import Api, Handler, frame_handler
from headrace.bootstrap.api import ACTIONS
from headrace.core.times import SECOND, iso
from headrace.live.connections import SubscriberHints, Subscription
from headrace.storage.ports import Table
from headrace.streams.chat.live.subscriptions import Subscriptions
from headrace.streams.chat.messages.history import History
from headrace.streams.chat.messages.positions import STORED_AT
from headrace.streams.chat.rooms.rooms import RoomAccess
from headrace.streams.chat.stream import CHAT
from tests.fakes.live import MemoryRoomLog
from tests.fakes.storage import MemoryReader
from tests.worlds.functions import routes_of
from tests.worlds.room_world import RoomWorld
from tests.worlds.senders import CLOCK, TABLE, message, sender
from tests.worlds.write_path import frame_event

TICKS = CLOCK.now() // SECOND


class Stage:
    """Rooms, their messages, and an environment of read_frame."""

    def __init__(self) -> None:
        self.world = RoomWorld()
        self.connections = self.world.connections
        self.cache = self.world.marks
        self.frames = self.environment(self.world.access)

    def environment(self, access: RoomAccess, limiter: RateLimiter | None = None) -> Handler:
        reader = MemoryReader(self.world.write_path.store.rows)
        history = History(
            reader, CursorSigner(b"k" * 32), TABLE.table, self.world.clock, access, log=MemoryRoomLog(self.cache)
        )
        audience = SubscriberHints(self.cache, self.connections)
        found = Subscriptions(self.connections, audience, access, history, limiter)
        return frame_handler(Api(routes_of("read_frame"), lambda: found, self.world.clock), actions=ACTIONS)

    def store_message(self, room: str, text: str, *, late: bool = False, **more: Any) -> str:
        """Store a message; its key."""
        event = CHAT.accept(message(roomId=room, message=text, **more), sender()).event
        row = CHAT.item(event, CLOCK.now(), TABLE)
        if late:
            row[STORED_AT] = iso(CLOCK.now())
        self.world.write_path.store.put_many(Table(TABLE.table, ("roomId", "timestampSk")), [row])
        return str(row["timestampSk"])

    def request(
        self,
        act: str,
        subject: str = "alice",
        *,
        connection: str = "c-1",
        scope: str = "chat:read",
        **body: Any,
    ) -> dict[str, Any]:
        event = frame_event({"requestId": "r-1", **body}, subject=subject, scope=scope)
        event["requestContext"] |= {"connectionId": connection, "connectedAt": (TICKS - 100) * 1000}
        event["requestContext"]["routeKey"] = act
        answer = self.frames(event)
        assert answer["statusCode"] == 200
        found: dict[str, Any] = json.loads(answer["body"])
        assert found["requestId"] == "r-1"
        return found

    def listening(self, room: str) -> list[Subscription]:
        return self.connections.subscriptions(room)
