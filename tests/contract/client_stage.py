"""A server that speaks the WebSocket protocol of Headrace, for tests of the Python client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from headrace_client import ConnectionSettings, Message, Rooms

START = datetime(2025, 11, 21, 10, tzinfo=UTC)
FAST = ConnectionSettings(
    check_interval=0.05, late_frame=0.05, answer_timeout=5.0, first_pause=0.001, longest_pause=0.01
)
OVERLAP = 3
"""Messages from before a position that its pages repeat."""


class Room:
    """Messages of one room by key, in the order of storing, and its subscribers.

    A position counts the messages: its tag is their number, and its time is so many seconds after the epoch. The log
    begins behind the first ``forgotten`` messages.
    """

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.subscribers: set[web.WebSocketResponse] = set()
        self.forgotten = 0

    def store(self, number: int, late: float = 0.0) -> Message:
        """The message ``number``, whose time is ``number`` seconds after the start, or ``late`` seconds before that."""
        at = (START + timedelta(seconds=number - late)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        key = f"{at}#m{number}#fpmansl7byak"
        message = {"key": key, "timestamp": at, "message": f"n{number}"}
        self.messages[key] = message
        return message

    @property
    def position(self) -> str:
        return position(len(self.messages))

    def page(self, query: dict[str, Any]) -> dict[str, Any]:
        at, _, before = query.get("before", f"{self.position} ").partition(" ")
        since = max(0, counted(query.get("since", self.position)) - OVERLAP)
        keys = [key for key in sorted([*self.messages][since:], reverse=True) if not before or key < before]
        shown = keys[: min(query["limit"], 7)]
        more = len(keys) > len(shown)
        return {
            "items": [self.messages[key] for key in shown],
            "next": f"{at} {shown[-1]}" if more else None,
            "hasMore": more,
            "position": at,
        }

    def resumed(self, since: str, most: int = 10) -> dict[str, Any]:
        """What is new since a position: from the log, at most so many at once, or else from the table."""
        count = counted(since)
        if count < self.forgotten:
            return self.page({"since": since, "limit": most})
        items = [*self.messages.values()][count : count + most]
        more = count + len(items) < len(self.messages)
        return {"items": items, "next": None, "hasMore": more, "position": position(count + len(items))}


def position(count: int) -> str:
    """The position after so many messages."""
    return f"p{count * 1_000_000:016d}-{count:012x}"


def counted(at: str) -> int:
    """The number of messages before a position."""
    return int(at[1:17]) // 1_000_000


class Stage:
    """A WebSocket API with rooms. ``fail`` has error codes for the next frames of an action; "" is none."""

    def __init__(self) -> None:
        self.rooms: dict[str, Room] = {"kitchen": Room()}
        self.user = Room()
        """The changes of the user alice, as messages."""
        self.tokens: list[str] = []
        self.sockets: set[web.WebSocketResponse] = set()
        self.fail: dict[str, list[str]] = {}
        self.frames: list[dict[str, Any]] = []
        self.refuses = self.down = False
        self.token_seconds = 3600.0
        self.expiries: dict[str, datetime] = {}
        self.renewals: asyncio.Queue[str] = asyncio.Queue()
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        protocol, token = (part.strip() for part in request.headers["Sec-WebSocket-Protocol"].split(","))
        self.tokens.append(token)
        if self.down:
            return web.Response(status=503)
        if self.refuses:
            return web.Response(status=401)
        socket = web.WebSocketResponse(protocols=(protocol,))
        await socket.prepare(request)
        self.sockets.add(socket)
        try:
            async for frame in socket:
                self.frames.append(json.loads(frame.data))
                await socket.send_str(json.dumps(self.answer(socket, self.frames[-1])))
        except ConnectionError:
            pass
        finally:
            self.sockets.discard(socket)
            for room in (*self.rooms.values(), self.user):
                room.subscribers.discard(socket)
        return socket

    def answer(self, socket: web.WebSocketResponse, frame: dict[str, Any]) -> dict[str, Any]:
        number, action = {"requestId": frame["requestId"]}, frame["action"]
        if action == "authenticate":
            self.renewals.put_nowait(frame["token"])
        codes = self.fail.get(action, [])
        code = codes.pop(0) if codes else ""
        if code:
            return {**number, "type": "error", "error": {"code": code, "message": "no"}}
        if action == "authenticate":
            return {**number, "type": "authenticated", "tokenExpiresAt": self.expiry(frame["token"])}
        if action == "resume":
            rooms, users = frame.get("rooms", {}), frame.get("users", {})
            found = {room_id: self.resume(socket, room_id, since) for room_id, since in rooms.items()}
            changes = {user: self.resume_user(socket, since) for user, since in users.items()}
            expiry = self.expiry(self.tokens[-1])
            return {**number, "type": "resumed", "rooms": found, "users": changes, "tokenExpiresAt": expiry}
        room = self.user if "userId" in frame else self.rooms[frame["roomId"]]
        if action == "sendSignal":
            return {**number, "type": "signalSent"}
        if action == "subscribe":
            room.subscribers.add(socket)
            expiry = self.expiry(self.tokens[-1])
            return {**number, "type": "subscribed", "position": room.position, "tokenExpiresAt": expiry}
        if action == "history":
            return {**number, "type": "history", **room.page(frame)}
        room.subscribers.discard(socket)
        return {**number, "type": "unsubscribed"}

    def resume(self, socket: web.WebSocketResponse, room_id: str, since: str) -> dict[str, Any]:
        """What was missed in a room; ``fail["resume of <room>"]`` has codes of errors."""
        codes = self.fail.get(f"resume of {room_id}", [])
        if codes and (code := codes.pop(0)):
            return {"error": {"code": code, "message": "no"}}
        room = self.rooms[room_id]
        room.subscribers.add(socket)
        return room.resumed(since)

    def resume_user(self, socket: web.WebSocketResponse, since: str) -> dict[str, Any]:
        """What has changed for the user; ``fail["resume of the user"]`` has codes of errors."""
        codes = self.fail.get("resume of the user", [])
        if codes and (code := codes.pop(0)):
            return {"error": {"code": code, "message": "no"}}
        self.user.subscribers.add(socket)
        is_known = counted(since) >= self.user.forgotten
        found = (
            self.user.resumed(since) if is_known else {"items": [], "hasMore": False, "position": self.user.position}
        )
        return {
            "items": found["items"],
            "hasMore": found["hasMore"],
            "position": found["position"],
            "missed": not is_known,
        }

    def expiry(self, token: str) -> str:
        """When a token expires: ``token_seconds`` after its first use."""
        expires_at = datetime.now(UTC) + timedelta(seconds=self.token_seconds)
        return self.expiries.setdefault(token, expires_at).isoformat()

    async def push(self, *messages: Message, room: str = "kitchen", missed: bool = False) -> None:
        """Push messages; if they were stored one after the other, the frame says what it follows."""
        stored = list(self.rooms[room].messages)
        places = sorted(stored.index(message["key"]) for message in messages)
        frame: dict[str, Any] = {"type": "messages", "roomId": room, "items": messages}
        frame |= {"missed": True} if missed else {}
        if places == list(range(places[0], places[0] + len(places))):
            frame |= {"follows": f"{places[0]:012x}", "position": position(places[-1] + 1)}
        await self.push_frame(frame)

    async def push_change(self, change: Message) -> None:
        """Push the newest change of the user."""
        count = len(self.user.messages)
        frame = {"type": "changes", "userId": "alice", "items": [change]}
        await self.push_frame({**frame, "follows": f"{count - 1:012x}", "position": position(count)})

    async def push_frame(self, frame: dict[str, Any]) -> None:
        """Push a frame to the subscribers of its room, or of the user."""
        room = self.rooms[frame["roomId"]] if "roomId" in frame else self.user
        for socket in list(room.subscribers):
            try:
                await socket.send_str(json.dumps(frame))
            except ConnectionError:
                room.subscribers.discard(socket)

    async def cut(self) -> None:
        """Cut all connections, as a network failure does."""
        for socket in list(self.sockets):
            transport = socket._req.transport if socket._req else None
            if transport is not None:
                transport.abort()


@asynccontextmanager
async def running_stage() -> AsyncIterator[Stage]:
    """A stage that listens at its ``url``."""
    made = Stage()
    app = web.Application()
    app.router.add_get("/dev", made.handle)
    server = TestServer(app)
    await server.start_server()
    made.url = str(server.make_url("/dev")).replace("http", "ws", 1)
    yield made
    for socket in list(made.sockets):
        await socket.close()
    await server.close()


async def take(rooms: Rooms, count: int) -> list[str]:
    """The next ``count`` texts."""
    found: list[str] = []
    async with asyncio.timeout(30):
        async for message in rooms:
            found.append(message["message"])
            if len(found) == count:
                break
    return found


async def until(good: Callable[[], bool]) -> None:
    for _ in range(3000):
        if good():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("not within 30 s")
