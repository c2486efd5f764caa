"""Clients that follow rooms live, as *Write a client* says: with the Python client."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

from headrace_client import ConnectionSettings, Rooms
from headrace_client.connection import Frame
from loadtest.client.target import Target

FOLLOWED_WITHIN = 60.0
CLOSED_WITHIN = 10.0


class Watchers:
    """``count`` clients, from :meth:`start` to :meth:`stop`, in an event loop in a separate thread."""

    def __init__(self, target: Target, name: str, rooms: Sequence[str], count: int) -> None:
        self._target = target
        self._rooms = rooms
        self._following = threading.Semaphore(0)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="watchers", daemon=True)
        self._came_at: dict[str, dict[str, float]] = {f"{name}-watcher-{each}": {} for each in range(count)}
        """By watcher and message id, when the message came."""
        self.repeated = self.fetched = 0

    def start(self) -> None:
        """Follow all rooms."""
        self._thread.start()
        for _ in self._came_at:
            if not self._following.acquire(timeout=FOLLOWED_WITHIN):
                raise TimeoutError(f"the watchers do not follow their rooms within {FOLLOWED_WITHIN:.0f} s")

    def stop(self) -> None:
        """Close all connections. May be called again."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._work.cancel)
            self._thread.join(CLOSED_WITHIN)

    def missing(self, message_ids: Iterable[str]) -> int:
        """How many of these messages have not come, at all watchers together."""
        wanted = set(message_ids)
        return sum(len(wanted - came_at.keys()) for came_at in self._came_at.values())

    def delays(self, shown_at: Mapping[str, float]) -> list[float]:
        """The seconds from when each of these messages could be shown until a watcher had it, in order of length.

        ``shown_at`` are times of ``time.monotonic``.
        """
        came = [came_at.copy() for came_at in self._came_at.values()]
        return sorted(at - shown_at[each] for came_at in came for each, at in came_at.items() if each in shown_at)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._work = self._loop.create_task(self._watch())
        with closing(self._loop), suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._work)

    async def _watch(self) -> None:
        await asyncio.gather(*map(self._follow, self._came_at))

    async def _follow(self, name: str) -> None:
        came_at = self._came_at[name]
        token = self._target.token_for(name, "chat:read")
        patient = ConnectionSettings(connect_timeout=FOLLOWED_WITHIN)  # all functions begin cold
        async with Rooms(self._target.websocket_url, token, settings=patient) as rooms:
            for room in self._rooms:
                await rooms.follow(room)
            rooms.connection.request = self._counted(rooms.connection.request)  # type: ignore[method-assign,assignment]
            self._following.release()
            async for message in rooms:
                self.repeated += message["messageId"] in came_at
                came_at.setdefault(message["messageId"], time.monotonic())

    def _counted(self, request: Callable[..., Awaitable[Frame]]) -> Callable[..., Awaitable[Frame]]:
        """``request``, with a count of the messages in its answers."""

        async def counted(action: str, **fields: Any) -> Frame:
            answer = await request(action, **fields)
            self.fetched += sum(len(each.get("items", ())) for each in (answer, *answer.get("rooms", {}).values()))
            return answer

        return counted
