"""A small stage with the real wire formats and rows in memory, which loses an event or waits if a test says so."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

Row = dict[str, Any]
BEHIND = "the stage is behind: an event would wait about 47 s to be stored; send it again as it is"


@dataclass
class Faults:
    """``lose`` is the number of an accepted event (from 1); 0 is none."""

    lose: int = 0
    delay: float = 0.0
    behind: range = range(0)
    """The frames that are refused, by their numbers."""


@dataclass
class FakeStage:
    """Runs in a separate thread, because the clients under test block."""

    faults: Faults = field(default_factory=Faults)
    rows: dict[str, dict[tuple[str, str, str], Row]] = field(default_factory=dict)
    accepted: int = 0
    frames: int = 0
    port: int = 0

    def __enter__(self) -> FakeStage:
        self._loop = asyncio.new_event_loop()
        started = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=(started,), daemon=True)
        self._thread.start()
        assert started.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    @property
    def http_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def websocket_url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/local"

    @property
    def token_url(self) -> str:
        return f"{self.http_url}/token"

    def _serve(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._run(started))
        self._loop.close()

    async def _run(self, started: threading.Event) -> None:
        self._stopping = asyncio.Event()
        app = web.Application()
        app.router.add_get("/local", self._socket)
        app.router.add_get("/rooms/{room}/messages", self._history)
        app.router.add_post("/token", self._token)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]
        started.set()
        await self._stopping.wait()
        await runner.cleanup()

    async def _token(self, request: web.Request) -> web.Response:
        asked = await request.json()
        return web.json_response({"access_token": f"{asked['user'].encode().hex()}.{'.'.join(asked['scopes'])}"})

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        offered = request.headers.get("Sec-WebSocket-Protocol", "").split(", ")
        if len(offered[0].split(",")) == 2:
            offered = offered[0].split(",")
        if offered[0] != "headrace.v1" or offered[-1].strip() == "refused":
            return web.Response(status=401)
        user = bytes.fromhex(offered[1].strip().split(".")[0]).decode()
        socket = web.WebSocketResponse(protocols=["headrace.v1"])
        await socket.prepare(request)
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                break
            self.frames += 1
            frame = json.loads(message.data)
            if self.frames in self.faults.behind:
                error = {"code": "rate_limited", "message": BEHIND, "retryAfter": 0.1}
                await socket.send_str(json.dumps({"type": "error", "requestId": frame["requestId"], "error": error}))
            else:
                await socket.send_str(json.dumps(self._answer(frame, user)))
        return socket

    def _answer(self, frame: dict[str, Any], user: str) -> dict[str, Any]:
        if frame["action"] == "sendBatch":
            return {
                "type": "acks",
                "requestId": frame.get("requestId"),
                "results": [self._accept(event, user) for event in frame["events"]],
            }
        return {"type": "ack", "requestId": frame.get("requestId"), **self._accept(frame, user)}

    def _accept(self, event: dict[str, Any], user: str) -> dict[str, Any]:
        self.accepted += 1
        row = {
            "roomId": event["roomId"],
            "messageId": event["messageId"],
            "timestamp": event["timestamp"],
            "userId": event.get("userId", user),
            "username": event.get("username", user),
            "message": event["message"],
            "messageType": event.get("messageType", "TEXT"),
            "visible_at": time.monotonic() + self.faults.delay,
        }
        room = self.rows.setdefault(row["roomId"], {})
        if self.accepted != self.faults.lose:
            room[(row["timestamp"], row["messageId"], row["userId"])] = row
        return {"roomId": row["roomId"], "messageId": row["messageId"], "timestamp": row["timestamp"], "lane": "main"}

    async def _history(self, request: web.Request) -> web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not token:
            return web.json_response({"message": "Unauthorized"}, status=401)
        room, query = request.match_info["room"], request.query
        rows = [row for row in self.rows.get(room, {}).values() if row["visible_at"] <= time.monotonic()]
        rows = [row for row in rows if query.get("from", "") <= row["timestamp"] < query.get("to", "~")]
        rows.sort(key=lambda row: (row["timestamp"], row["messageId"]), reverse=True)
        start, limit = int(query.get("before", 0)), int(query.get("limit", 20))
        more = len(rows) > start + limit
        items = [{k: v for k, v in row.items() if k != "visible_at"} for row in rows[start : start + limit]]
        page = {"items": items, "next": str(start + limit) if more else None, "previous": None, "hasMore": more}
        return web.json_response(page)
