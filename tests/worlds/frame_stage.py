"""Rooms, their messages, and an environment of read_frame, in memory."""

from __future__ import annotations

import json
from typing import Any

from headrace.api.paging.cursors import CursorSigner
from headrace.api.rates.rate_limiter import RateLimiter
from headrace.api.router import Api, Handler, frame_handler
from headrace.bootstrap.api import ACTIONS
from headrace.core.json import encode
from headrace.core.times import SECOND, iso
from headrace.live.connections import Subscription
from headrace.live.hints import SubscriberHints
from headrace.live.presence import LastChecks
from headrace.live.shares import Shares
from headrace.storage.ports import Table
from headrace.streams.chat.live.subscriptions import Subscriptions
from headrace.streams.chat.messages.history import History
from headrace.streams.chat.messages.positions import STORED_AT, mark_unlogged, new_tag
from headrace.streams.chat.messages.room_log import Batch, LoggedFrame
from headrace.streams.chat.rooms.access import RoomAccess
from headrace.streams.chat.stream import item_of
from tests.fakes.commands import MemoryCommands
from tests.fakes.live import MemoryRoomLog
from tests.fakes.storage import MemoryReader
from tests.worlds.functions import routes_of
from tests.worlds.room_world import RoomWorld
from tests.worlds.senders import CHAT, CLOCK, TABLE, message, sender
from tests.worlds.write_path import frame_event

TICKS = CLOCK.now() // SECOND


class Stage:
    """Rooms, their messages, and an environment of read_frame."""

    def __init__(self, world: RoomWorld | None = None) -> None:
        self.world = world or RoomWorld()
        self.connections = self.world.connections
        self.cache = self.world.marks
        self.commands = MemoryCommands()
        self.log = MemoryRoomLog(self.cache)
        self.reader = MemoryReader(self.world.write_path.store.rows)
        self.frames = self.environment(self.world.access)

    def environment(self, access: RoomAccess, limiter: RateLimiter | None = None) -> Handler:
        cursors = CursorSigner(b"k" * 32)
        history = History(self.reader, cursors, TABLE.table, self.world.clock, access, log=self.log)
        audience = SubscriberHints(self.cache, self.connections, sleep=self.world.clock.advance)
        shares, checks = Shares(self.commands, self.connections), LastChecks(self.cache)
        found = Subscriptions(self.connections, audience, access, history, shares, checks, limiter)
        return frame_handler(Api(routes_of("read_frame"), lambda: found, self.world.clock), actions=ACTIONS)

    def store_message(self, room: str, text: str, *, late: bool = False, is_logged: bool = True, **more: Any) -> str:
        """Store a message, and append it to the log of its room, or mark it as unlogged; its key."""
        event = CHAT.accept(message(roomId=room, message=text, **more), sender()).event
        row = CHAT.item(event, CLOCK.now(), TABLE)
        if late:
            row[STORED_AT] = iso(CLOCK.now())
        if is_logged:
            frame = LoggedFrame(new_tag(), CLOCK.now(), encode([item_of(row)]))
            self.log.append({room: Batch(frame.tag, [frame])})
        else:
            mark_unlogged([row], CLOCK.now())
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
