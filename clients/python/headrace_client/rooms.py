"""Follows rooms over one connection."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from types import TracebackType
from typing import Any

from .connection import Connection, Frame, Lost, Patience, Refused
from .room import Message, Room


class Rooms:
    """Follows rooms; iterate over it for their messages.

    ``refused`` is called when a room that was followed may no longer be read. When the token is not accepted any more,
    iteration ends, and ``connection.over`` says why.
    """

    def __init__(
        self,
        url: str,
        token: Callable[[], str],
        *,
        patience: Patience | None = None,
        refused: Callable[[str, Refused], object] | None = None,
    ) -> None:
        self._patience = patience or Patience()
        self._refused = refused
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self.rooms: dict[str, Room] = {}
        self.connection = Connection(
            url, token, self._patience, opened=self._keep_up, received=self._receive, ended=self._suspect
        )

    async def __aenter__(self) -> Rooms:
        self._start(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in [*self._tasks]:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def __aiter__(self) -> AsyncIterator[Message]:
        while (message := await self._messages.get()) is not None:
            yield message

    async def follow(self, room_id: str, after: str | None = None) -> None:
        """Follow a room from now on; or from the key ``after``, with some messages from shortly before it.

        Raises:
            Refused: the room may not be read.
        """
        room = Room(room_id, after, self.connection, self._patience, self._messages.put_nowait)
        self.rooms[room_id] = room
        while True:
            try:
                await self.connection.wait()
                await room.subscribe(is_new=True)
            except Lost:
                await asyncio.sleep(self._patience.first_pause)
            except Refused:
                self.rooms.pop(room_id, None)
                raise
            else:
                return

    async def unfollow(self, room_id: str) -> None:
        """Follow a room no longer."""
        self.rooms.pop(room_id, None)
        with contextlib.suppress(Lost):
            await self.connection.request("unsubscribe", roomId=room_id)

    async def say(self, room_id: str, message: str, **fields: Any) -> Frame:
        """Send a message; with a ``messageId`` and a ``timestamp`` it is harmless to send it again.

        Raises:
            Refused, Lost: see :meth:`Connection.request`.
        """
        return await self.connection.request("sendMessage", roomId=room_id, message=message, **fields)

    async def _run(self) -> None:
        try:
            await self.connection.run()
        finally:
            self._messages.put_nowait(None)

    async def _keep_up(self) -> None:
        """Subscribe to all rooms again, and from then on ask for their heads now and then."""
        is_new = True
        while True:
            for room in [each for each in self.rooms.values() if each.is_followed]:
                try:
                    await room.subscribe(is_new=is_new)
                except Lost:
                    await self.connection.drop()
                    return
                except Refused as error:
                    self._lose(room, error)
            is_new = False
            # Clients that connected together must not ask together.
            await asyncio.sleep(random.uniform(0.5, 1.0) * self._patience.check)  # noqa: S311

    def _lose(self, room: Room, error: Refused) -> None:
        self.rooms.pop(room.room_id, None)
        if self._refused is not None:
            self._refused(room.room_id, error)

    def _receive(self, frame: Frame) -> None:
        room = self.rooms.get(frame.get("roomId", ""))
        if frame.get("type") == "messages" and room is not None and room.receive(frame):
            self._start(self._close_gap(room))

    async def _close_gap(self, room: Room) -> None:
        try:
            await room.close_gap()
        except Lost:
            await self.connection.drop()  # the next one closes the gap
        except Refused as error:
            self._lose(room, error)

    def _suspect(self) -> None:
        for room in self.rooms.values():
            room.suspect()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
