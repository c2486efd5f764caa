"""Lean clients of the WebSocket API: they keep what arrives with its time, and read it after the measurement."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any

import aiohttp

from headrace.core import times
from loadtest.client.websocket import SUBPROTOCOL

CONNECT_SECONDS = 60.0
SENDERS = 5


class Client:
    """One connection. ``arrived`` has each frame after the answer to :meth:`subscribe`, with its time."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._token = token
        self.arrived: list[tuple[float, str]] = []
        self._reading: asyncio.Task[None] | None = None

    async def connect(self, session: aiohttp.ClientSession) -> None:
        protocols = [SUBPROTOCOL, self._token]
        self._socket = await session.ws_connect(self._url, protocols=protocols, compress=0, autoclose=False)

    async def subscribe(self, room: str) -> None:
        """Subscribe to a room and wait for the answer; an error ends the benchmark."""
        await self.send({"action": "subscribe", "roomId": room})
        while (answer := json.loads(await self._socket.receive_str(timeout=CONNECT_SECONDS)))["type"] == "messages":
            pass  # the room's messages may be pushed before the answer
        if answer["type"] != "subscribed":
            raise SystemExit(f"not subscribed: {answer}")

    async def send(self, frame: dict[str, Any]) -> None:
        await self._socket.send_str(json.dumps(frame))

    def listen(self) -> None:
        """Keep what arrives from now on."""
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self._socket:
            self.arrived.append((time.time(), message.data))

    async def close(self) -> None:
        await self._socket.close()
        if self._reading is not None:
            await self._reading


async def connect_all(session: aiohttp.ClientSession, found: Sequence[Client], room: str) -> float:
    """Let all connect and subscribe at once; the seconds until the last one has its answer."""

    async def one(client: Client) -> None:
        await client.connect(session)
        await client.subscribe(room)

    began = time.perf_counter()
    await asyncio.gather(*map(one, found))
    return time.perf_counter() - began


async def send_messages(senders: Sequence[Client], room: str, word: str, rate: float, seconds: float) -> list[float]:
    """Send at a steady rate, without waiting for the acknowledgements; the time of each message."""
    began, sent = time.monotonic(), list[float]()
    for number in range(int(rate * seconds)):
        await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
        sent.append(time.time())
        frame = {"action": "sendMessage", "roomId": room, "messageId": f"{word}-{number}", "requestId": number}
        frame["timestamp"] = times.iso(time.time_ns() // 1000)
        await senders[number % len(senders)].send({**frame, "message": "about as long as people write in a chat"})
    return sent
