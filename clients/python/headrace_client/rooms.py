"""Follows rooms over one connection."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from .arrivals import Arrivals
from .channel import Channel
from .connection import ConnectionSettings, Frame
from .errors import HeadraceError, RateLimited, Refused, Unavailable, error_of
from .room import Room
from .sending import Sender
from .tokens import Token
from .types import MessageItem
from .websocket import SocketTransport

ROOMS_PER_FRAME = 20


class Rooms:
    """Follows rooms; iterate over it to get their messages.

    ``token`` gives the access token of each connection. ``refused`` is called with the room id and the error when a
    followed room may no longer be read, and ``signal`` with each signal, such as "is typing": a frame with its
    ``roomId``, ``userId``, ``name`` and ``data``. Iteration raises the error that ends it, such as a :class:`Refused`
    of a token; what a callback raises is the cause of one. ``options`` are those of :class:`aiohttp.ClientSession`,
    such as ``proxy``.
    """

    def __init__(
        self,
        url: str,
        token: Token,
        *,
        settings: ConnectionSettings | None = None,
        refused: Callable[[str, Refused], object] | None = None,
        signal: Callable[[Frame], object] | None = None,
        **options: Any,
    ) -> None:
        self._settings = settings or ConnectionSettings()
        self._refused = refused
        self._signal = signal
        self._messages = Arrivals[Any]()
        self.rooms: dict[str, Room] = {}
        self._changes: Arrivals[Frame | None] | None = None
        """What :meth:`changes` yields."""
        self.channel: Channel | None = None
        """The channel of the user, if it is followed."""
        work: Any = {"opened": self._follow_again, "received": self._receive, "ended": self._end}
        self.connection = SocketTransport(url, token, self._settings, **work, **options)
        self._sender = Sender(self.connection)

    async def __aenter__(self) -> Rooms:
        await self.connection.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._sender.close()
        await self.connection.close()

    def __aiter__(self) -> AsyncIterator[MessageItem]:
        return aiter(self._messages)

    async def follow(self, room_id: str, since: str | None = None) -> None:
        """Follow a room from now on, or from a position: ``rooms[room_id].position`` of an earlier client.

        Messages from shortly before the position may come again.

        Raises:
            Refused: the room may not be read.
            Unreachable: the first connection did not open within ``connect_timeout``.
        """
        room = self.rooms[room_id] = Room(room_id, since, self.connection, self._messages.put)
        await self._begin(room, since)

    async def follow_user(
        self, user_id: str, changed: Callable[[Frame | None], object], since: str | None = None
    ) -> None:
        """Follow the token's own user from now on, or from a position: ``channel.position`` of an earlier client.

        ``changed`` is called with each change in the user's rooms, and each invitation, such as
        ``{"changed": "membership", "roomId": "kitchen", …}``. It is called with ``None`` when changes may be missing,
        and at first if there is no position: then read the user's rooms and invitations.

        Raises:
            Refused: the token is of another user.
            Unreachable: the first connection did not open within ``connect_timeout``.
        """
        self.channel = Channel(user_id, since, self.connection, changed)
        await self._begin(self.channel, since)

    async def changes(self, user_id: str, since: str | None = None) -> AsyncGenerator[Frame | None]:
        """What :meth:`follow_user` calls ``changed`` with, to loop over. Closing it stops following the user:

            async with contextlib.aclosing(rooms.changes("alice")) as changes:
                async for change in changes: ...

        Raises:
            Refused: the user may not be followed, or no longer, or a token is refused.
            HeadraceError: following ended with another error, which is the cause.
            Unreachable: the first connection did not open within ``connect_timeout``.
        """
        found = self._changes = Arrivals()
        await self.follow_user(user_id, found.put, since)
        try:
            async for change in found:
                yield change
        finally:
            await self.unfollow_user()

    async def unfollow_user(self) -> None:
        """Stop following the user."""
        channel, self.channel, self._changes = self.channel, None, None
        if channel is not None:
            with contextlib.suppress(Unavailable, Refused):
                await self.connection.request("unsubscribe", userId=channel.room_id)

    async def _begin(self, room: Room, since: str | None) -> None:
        try:
            while True:
                await self.connection.wait()
                try:
                    await room.subscribe()
                    if since is not None:
                        await self._resume([room])
                    return
                except RateLimited as error:
                    await asyncio.sleep(error.pause())
                except Unavailable:
                    await asyncio.sleep(self._settings.first_pause)
        except HeadraceError:
            self._drop(room)
            raise

    async def unfollow(self, room_id: str) -> None:
        """Stop following a room."""
        self.rooms.pop(room_id, None)
        with contextlib.suppress(Unavailable):
            await self.connection.request("unsubscribe", roomId=room_id)

    async def check(self, positions: Mapping[str, str]) -> dict[str, bool]:
        """Whether up to 20 rooms have messages since these positions, without following them.

        Rooms that may not be read are left out.

        Raises:
            Refused, Unavailable: see :meth:`Connection.request`.
        """
        answer = await self.connection.request("check", rooms=dict(positions), subscribe=False)
        return {room_id: bool(found["hasNew"]) for room_id, found in answer["rooms"].items() if "hasNew" in found}

    async def send(self, room_id: str, message: str, **fields: Any) -> Frame:
        """Send a message until it is accepted, as :meth:`Sender.send`; returns it with its id, its time and its lane.

        With ``replyTo``, the key of a message in the room, it is a reply. To send it again after an error, give it the
        same ``messageId`` and ``timestamp`` in ``fields``.

        Raises:
            Refused: a permanent error, or the client was closed.
            Unavailable: it was not accepted in time, or the first connection did not open.
            HeadraceError: no further connection is made, as :attr:`Connection.refusal` says.
        """
        said = [{"roomId": room_id, "message": message, **fields}]
        (sent,) = await self._sender.send(said, raise_for_errors=False)
        if sent.error is not None:
            raise error_of({**sent.error})
        return {**sent.event, "lane": sent.lane}

    async def signal(self, room_id: str, name: str, data: str = "") -> None:
        """Send a signal, such as "typing". It is never stored, and may reach no user; do not send it again.

        A second "typing" of the user in the room within three seconds is refused.

        Raises:
            Refused, Unavailable: see :meth:`Connection.request`.
        """
        await self.connection.request("sendSignal", roomId=room_id, name=name, data=data)

    def _end(self) -> None:
        for each in (self._messages, self._changes):
            if each is not None:
                each.end(self.connection.refusal)

    async def _follow_again(self) -> None:
        """Resume all followed rooms, now and then at least every ``check_interval`` seconds."""
        try:
            while True:
                await self._resume([room for room in self._all() if room.position is not None])
                # Jitter: clients that connected together must not ask together.
                await asyncio.sleep(random.uniform(0.6, 1.0) * self._settings.check_interval)  # noqa: S311
        except Unavailable:
            await self.connection.reconnect()

    async def _resume(self, rooms: Sequence[Room]) -> None:
        """Resume rooms from their positions, 20 with one frame."""
        for start in range(0, len(rooms), ROOMS_PER_FRAME):
            begun = [room for room in rooms[start : start + ROOMS_PER_FRAME] if room.begin()]
            try:
                await self._resume_begun(begun)
            finally:
                for room in begun:
                    room.end()

    async def _resume_begun(self, rooms: Sequence[Room]) -> None:
        """Resume until nothing is missed. A limited room is tried once more, and then in the next round."""
        limited: set[Room] = set()
        while rooms:
            pause, again = 0.0, list[Room]()
            try:
                answer = await self._ask(rooms)
            except Refused as error:
                for room in rooms:
                    self._stop_following(room, error)
                return
            for room in rooms:
                found = answer.get(room.place, {}).get(room.room_id)
                try:
                    if found is not None and "error" in found:
                        raise error_of(found["error"])
                    if await room.take(found):
                        again.append(room)
                except RateLimited as error:
                    if room not in limited:
                        limited.add(room)
                        again.append(room)
                        pause = max(pause, error.pause())
                except Refused as error:
                    self._stop_following(room, error)
            await asyncio.sleep(pause)
            rooms = again

    def _all(self) -> list[Room]:
        return [*self.rooms.values(), *([] if self.channel is None else [self.channel])]

    async def _ask(self, rooms: Sequence[Room]) -> Frame:
        asked: dict[str, dict[str, str | None]] = {}
        for room in rooms:
            asked.setdefault(room.place, {})[room.room_id] = room.position
        while True:
            try:
                return await self.connection.request("resume", **asked)
            except RateLimited as error:
                await asyncio.sleep(error.pause())

    def _drop(self, room: Room) -> None:
        if room is self.channel:
            self.channel = None
        else:
            self.rooms.pop(room.room_id, None)

    def _stop_following(self, room: Room, error: Refused) -> None:
        if room is self.channel and self._changes is not None:
            self._changes.end(error)
        self._drop(room)
        if self._refused is not None:
            self._refused(room.room_id, error)

    def _receive(self, frame: Frame) -> None:
        is_change = frame.get("type") == "changes"
        room = self.channel if is_change else self.rooms.get(frame.get("roomId", ""))
        if frame.get("type") == "signal" and room is not None and self._signal is not None:
            self._signal(frame)
        if frame.get("type") == "roomDeleted" and room is not None:
            self._stop_following(room, Refused("not_found", "the room was deleted"))
        if not (is_change or frame.get("type") == "messages") or room is None:
            return
        if room.receive(frame):
            self.connection.start(self._close_gap, room)
        elif room.has_hole and not room.is_waiting:
            room.is_waiting = True
            self.connection.start(self._close_hole, room)

    async def _close_hole(self, room: Room) -> None:
        """Wait a moment for a frame that may only be late; then ask for it."""
        await asyncio.sleep(random.uniform(0.5, 1.0) * self._settings.late_frame)  # noqa: S311
        room.is_waiting = False
        if room.has_hole:
            await self._close_gap(room)

    async def _close_gap(self, room: Room) -> None:
        try:
            await self._resume([room])
        except Unavailable:
            await self.connection.reconnect()  # the next connection resumes
