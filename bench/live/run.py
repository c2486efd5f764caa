"""Subscribers and senders on a separate stage."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from headrace_client import Rooms
from loadtest.client.target import Target

SENDERS = 5


@dataclass
class Subscriber:
    """One client, and the time at which it received each message."""

    rooms: Rooms
    received_at: dict[str, float] = field(default_factory=dict)
    is_cut: bool = False

    async def listen(self) -> None:
        async for message in self.rooms:
            self.received_at[message["messageId"]] = time.monotonic()


class Run:
    """Subscribers and senders of one room."""

    def __init__(self, target: Target, subscribers: int) -> None:
        self.target = target
        self.room = f"bench-{uuid.uuid4().hex[:8]}"
        self.subscribers = [Subscriber(self.client(f"subscriber-{number}")) for number in range(subscribers)]
        self.sent_at: dict[str, float] = {}
        self.accepted: set[str] = set()

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Let all subscribers follow the room."""
        async with AsyncExitStack() as stack:
            for each in self.subscribers:
                await stack.enter_async_context(each.rooms)
            await asyncio.gather(*(each.rooms.follow(self.room) for each in self.subscribers))
            tasks = [asyncio.create_task(each.listen()) for each in self.subscribers]
            yield
            for task in tasks:
                task.cancel()

    def client(self, user: str) -> Rooms:
        return Rooms(self.target.websocket_url, self.target.token_for(user, "chat:read", "chat:write"))

    async def send_messages(self, rate: float, seconds: float) -> None:
        """Send ``rate`` messages a second for ``seconds``, over a few connections."""
        senders = [self.client(f"sender-{number}") for number in range(SENDERS)]
        async with AsyncExitStack() as stack, asyncio.TaskGroup() as sending:
            for each in senders:
                await stack.enter_async_context(each)
                await each.connection.wait()
            began, word = time.monotonic(), uuid.uuid4().hex[:8]
            for number in range(int(rate * seconds)):
                await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
                sending.create_task(self._send(senders[number % SENDERS], f"{word}-{number}"))

    async def _send(self, sender: Rooms, message_id: str) -> None:
        timestamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self.sent_at[message_id] = time.monotonic()
        await sender.send(self.room, "about as long as people write", messageId=message_id, timestamp=timestamp)
        self.accepted.add(message_id)

    async def cut(self, count: int) -> None:
        """Close the connections of ``count`` subscribers."""
        for each in self.subscribers[:count]:
            each.is_cut = True
            await each.rooms.connection.reconnect()

    async def wait_for_all(self, seconds: float) -> None:
        """Wait until every subscriber has every message, at most ``seconds``."""
        for _ in range(int(seconds * 10)):
            if not self.missing():
                return
            await asyncio.sleep(0.1)

    def missing(self) -> int:
        """The number of messages missing at all subscribers together."""
        return sum(len(self.accepted - each.received_at.keys()) for each in self.subscribers)

    def latencies(self) -> list[float]:
        """The sorted latencies in seconds, of subscribers that were not cut off."""
        return sorted(
            had - self.sent_at[message_id]
            for each in self.subscribers
            if not each.is_cut
            for message_id, had in each.received_at.items()
            if message_id in self.sent_at
        )
