"""Measures whether users learn of every change while their connections are cut: ``python -m bench.live.channels``.

Starts its own stage. 1,000 users follow themselves with the Python client, and a trusted producer adds them to rooms.
Each second some of the connections are cut, and in the middle all of them. A user knows a room from the change
that was pushed, or from their list, which the client reads again after a gap of over two minutes.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp

from bench import ROOT
from bench.rounds import Series, command, figure, head, row
from bench.stages import Stage, started
from headrace_client import Rooms
from loadtest.client.target import Target

STATE = ROOT / ".local" / "bench-live"
ROOMS = 20
OPENED_AT_ONCE = 20
PATIENCE = 30.0


class Follower:
    """One user: since when they know each room, and how often they had to read their list."""

    def __init__(self, target: Target, session: aiohttp.ClientSession) -> None:
        self.user_id = f"user-{uuid.uuid4().hex[:12]}"
        self.known: dict[str, float] = {}
        self.lists = 0
        self._token = target.token_for(self.user_id, "chat:read")
        self._http, self._session = target.http_url, session
        self._reading = set[asyncio.Task[None]]()
        self.rooms = Rooms(target.websocket_url, self._token)

    def changed(self, change: dict[str, Any] | None) -> None:
        if change is not None:
            self.known.setdefault(change["roomId"], time.monotonic())
            return
        task = asyncio.create_task(self._read())
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _read(self) -> None:
        self.lists += 1
        headers = {"authorization": f"Bearer {self._token()}"}
        async with self._session.get(f"{self._http}/users/{self.user_id}/rooms?limit=50", headers=headers) as answer:
            for each in (await answer.json())["items"]:
                self.known.setdefault(each["roomId"], time.monotonic())


class Run:
    """Followers, and a producer that adds them to rooms."""

    def __init__(self, target: Target, session: aiohttp.ClientSession, followers: int) -> None:
        self.followers = [Follower(target, session) for _ in range(followers)]
        self.added: dict[tuple[int, str], float] = {}
        self.cuts = 0
        self._token = target.token_for("producer", "events:write")
        self._http, self._session = target.http_url, session
        self._rooms = [f"bench-{uuid.uuid4().hex[:8]}" for _ in range(ROOMS)]

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Let all users follow themselves, some at once."""
        async with AsyncExitStack() as stack:
            free = asyncio.Semaphore(OPENED_AT_ONCE)

            async def follow(each: Follower) -> None:
                async with free:
                    await stack.enter_async_context(each.rooms)
                    await each.rooms.follow_user(each.user_id, each.changed)

            await asyncio.gather(*map(follow, self.followers))
            for room in self._rooms:
                await self._put(f"/rooms/{room}", {"kind": "members"})
            yield

    async def add(self, number: int) -> None:
        """Add one user to a room; the change counts from its answer on."""
        follower, room = number % len(self.followers), random.choice(self._rooms)
        await self._put(f"/rooms/{room}/members/{self.followers[follower].user_id}", {})
        self.added.setdefault((follower, room), time.monotonic())

    async def cut(self, count: int) -> None:
        """Close the connections of ``count`` users."""
        self.cuts += count
        for each in random.sample(self.followers, count):
            await each.rooms.connection.reconnect()

    async def wait_for_all(self) -> None:
        for _ in range(int(PATIENCE * 10)):
            if not self.missing():
                return
            await asyncio.sleep(0.1)

    def missing(self) -> int:
        """The number of changes that users do not know."""
        return sum(room not in self.followers[number].known for number, room in self.added)

    def lists(self) -> int:
        """How often users read their lists."""
        return sum(each.lists for each in self.followers)

    def seconds(self) -> list[float]:
        """How long after the answer each user knew of a change, sorted."""
        return sorted(self.followers[number].known[room] - at for (number, room), at in self.added.items())

    async def _put(self, path: str, body: dict[str, Any]) -> None:
        headers = {"authorization": f"Bearer {self._token()}"}
        async with self._session.put(self._http + path, json=body, headers=headers) as answer:
            if answer.status != 200:
                raise SystemExit(f"PUT {path} answers {answer.status}: {await answer.text()}")


async def measure(target: Target, seconds: float, rate: float, followers: int, cut: int) -> list[Series]:
    """Add users to rooms and cut connections; a change that is missing ends the benchmark."""
    async with aiohttp.ClientSession() as session:
        run = Run(target, session, followers)
        async with run.following():
            lists = run.lists()
            began, adding = time.monotonic(), set[asyncio.Task[None]]()
            middle = int(seconds / 2)
            for number in range(int(rate * seconds)):
                await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
                adding.add(asyncio.create_task(run.add(number)))
                second, within = divmod(number, int(rate))
                if not within:
                    await run.cut(followers if second == middle else cut)
            await asyncio.gather(*adding)
            await run.wait_for_all()
            return report(run, run.lists() - lists)


def report(run: Run, lists: int) -> list[Series]:
    """Print the table; returns its numbers."""
    if run.missing():
        raise SystemExit(f"{run.missing()} of {len(run.added)} changes are missing")
    found = [1000 * each for each in run.seconds()]
    head("", "", "aim")
    row("changes · cut connections", f"{len(run.added):,} · {run.cuts:,}", "–")
    row("known after the answer, median · last", f"{statistics.median(found):.0f} · {found[-1]:.0f} ms", "–")
    row("changes missing · lists read again", f"{run.missing()} · {lists:,}", "0 · –")
    return [
        figure("a change is known, median", [statistics.median(found)], "ms"),
        figure("lists read again", [lists], ""),
    ]


def main(rounds: int, seconds: float, rate: float, followers: int, cut: int) -> list[Series]:
    stage = Stage(STATE)
    with started(stage):
        runs = (asyncio.run(measure(stage.target, seconds, rate, followers, cut)) for _ in range(rounds))
        return [each for run in runs for each in run]


if __name__ == "__main__":
    command(__doc__, main, 1, seconds=40.0, rate=20.0, followers=1000, cut=20)
