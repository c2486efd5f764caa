"""Measures live messages of one room while another room is flooded: ``python -m bench.live.flood --listeners 900``.

Starts its own stage. Five subscribers follow a quiet room, to which ten messages a second are sent. Latency is the time
from sending a message until a subscriber has it. It is measured without a flood, then with one by a single user, then
with one by as many users as ``--listeners`` connections need.

A flood is in a room of the same live queue: as many connections as the platform lets these users subscribe, each
reading all it gets, and 100 events/s of 4 KB.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import statistics
import time
import uuid
from dataclasses import dataclass
from multiprocessing.connection import Connection

import aiohttp

from bench.live.run import Run, on_stage
from bench.rounds import Series, command, head, ratio, row
from headrace.live.shares import CONNECTIONS_PER_ROOM as PER_USER
from headrace.queues.names import live_queue
from loadtest.client.target import Target
from loadtest.client.websocket import SUBPROTOCOL

SUBSCRIBERS, QUIET_RATE = 5, 10
EVENTS, EVENT_BYTES, EVENTS_PER_REQUEST = 100, 4000, 10
REFUSED_AT_ONCE = 50
"""Refusals in a row after which a user stops opening connections."""
OPEN_AT_ONCE = 8
DRAIN_SECONDS = 10


@dataclass(frozen=True)
class Flood:
    """``listeners`` connections of ``users`` to one room."""

    target: Target
    room: str
    users: int
    listeners: int

    async def run(self, parent: Connection) -> None:
        """Open the connections, tell ``parent`` how many listen, and send until it answers."""
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            at_once = asyncio.Semaphore(OPEN_AT_ONCE)
            counts = await asyncio.gather(*(self._join(session, user, at_once) for user in range(self.users)))
            parent.send(sum(counts))
            sending = asyncio.create_task(self._send(session))
            await asyncio.to_thread(parent.recv)
            sending.cancel()

    async def _join(self, session: aiohttp.ClientSession, user: int, at_once: asyncio.Semaphore) -> int:
        """Open this user's share of the connections; how many of them listen."""
        async with at_once:
            token = await asyncio.to_thread(self.target.token_for(f"flooder-{user}", "chat:read", "chat:write"))
            wanted, listening, refused = self.listeners // self.users, 0, 0
            while listening < wanted and refused < REFUSED_AT_ONCE:
                try:
                    socket = await session.ws_connect(
                        self.target.websocket_url, protocols=(SUBPROTOCOL, token), max_msg_size=256 * 1024
                    )
                except aiohttp.WSServerHandshakeError:
                    refused += 1
                    await asyncio.sleep(0.1)
                    continue
                await socket.send_json({"action": "subscribe", "roomId": self.room})
                answer = await socket.receive_json()
                if answer.get("type") != "subscribed":
                    refused += 1
                    await socket.close()
                    continue
                listening, refused = listening + 1, 0
                asyncio.create_task(_listen(socket))  # noqa: RUF006 - ends with the process
            return listening

    async def _send(self, session: aiohttp.ClientSession) -> None:
        token = self.target.token_for("flooder-0", "chat:read", "chat:write")
        url, text = f"{self.target.http_url}/messages/batch", "x" * EVENT_BYTES
        began, sent = time.monotonic(), 0
        while True:
            body = {"events": [{"roomId": self.room, "message": text} for _ in range(EVENTS_PER_REQUEST)]}
            headers = {"authorization": f"Bearer {token()}"}
            async with session.post(url, json=body, headers=headers) as answer:
                await answer.read()
            sent += EVENTS_PER_REQUEST
            await asyncio.sleep(max(0.0, began + sent / EVENTS - time.monotonic()))


async def _listen(socket: aiohttp.ClientWebSocketResponse) -> None:
    async for _ in socket:
        pass


def flood(flood: Flood, parent: Connection) -> None:
    """The process of the flooding users."""
    asyncio.run(flood.run(parent))


async def measure(target: Target, rounds: int, seconds: float, listeners: int) -> list[Series]:
    """Send to the quiet room without and beside floods."""
    run = Run(target, SUBSCRIBERS)
    series: list[Series] = []
    async with run.following():
        await run.send_messages(QUIET_RATE, 20)  # without cold starts in the measurement
        head("flood", "listeners", "median", "p99", "worst", "missing")
        quiet = await quiet_room("none", run, rounds, seconds, 0)
        users = max(1, -(-listeners // PER_USER))
        for name, count in (("one user", 1), (f"{users} users", users)):
            room = next(each for each in iter(_room, "") if live_queue(each) == live_queue(run.room))
            here, there = multiprocessing.Pipe()
            work = Flood(target, room, count, listeners)
            process = multiprocessing.get_context("spawn").Process(target=flood, args=(work, there), daemon=True)
            process.start()
            there.close()  # so that recv() ends with the process
            admitted = await asyncio.to_thread(here.recv)
            await asyncio.sleep(3)
            flooded = await quiet_room(name, run, rounds, seconds, admitted)
            series.append(ratio(f"median beside a flood by {name}, against none", flooded, quiet, "lower"))
            here.send("stop")
            await asyncio.to_thread(process.join)
            await asyncio.sleep(DRAIN_SECONDS)
    return series


def _room() -> str:
    return f"flood-{uuid.uuid4().hex[:8]}"


async def quiet_room(name: str, run: Run, rounds: int, seconds: float, listeners: int) -> list[float]:
    """Send to the quiet room, print one row, and return the medians of equal parts of the time, one per round."""
    run.sent_at.clear()
    await run.send_messages(QUIET_RATE, seconds)
    await run.wait_for_all(30)
    found = run.latencies() or [0.0]
    median, worst = statistics.median(found), found[-1]
    p99 = found[int(len(found) * 0.99)]
    times = " | ".join(f"{each * 1000:,.0f} ms" for each in (median, p99, worst))
    row(f"{name}", f"{listeners}", f"{times}", f"{run.missing()}")
    return medians(run, rounds)


def medians(run: Run, parts: int) -> list[float]:
    """The median latencies of the messages in order of sending, in equal parts."""
    sent = list(run.sent_at)
    size = max(1, len(sent) // parts)
    return [
        statistics.median(
            each.received_at[message] - run.sent_at[message]
            for each in run.subscribers
            for message in sent[part * size : (part + 1) * size]
            if message in each.received_at
        )
        for part in range(parts)
    ]


def main(rounds: int, seconds: float, listeners: int) -> list[Series]:
    return on_stage(lambda target: measure(target, rounds, seconds, listeners))


if __name__ == "__main__":
    command(__doc__, main, 5, seconds=20.0, listeners=900)
