"""Measures the traffic of other users beside an erasure: ``python -m bench.erasing``.

Starts its own stage. One user has ``--messages`` messages in eight rooms, and another one a quarter as many. Other
users send single messages to these rooms and read their newest pages, in turns as fast as they can, and at 30% of that
rate: before the erasure, while it goes through the messages, and after that. The peer of a round beside the erasure is
the mean of a round before and one after it. A message counts when it is stored. The clients, the stage and the erasure
share the processors of this machine.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import aiohttp
import uvloop

from bench import ROOT
from bench.rounds import Series, command, figure, head, median_text, percentile, ratio, row
from bench.singles.senders import CONNECTIONS, Send, frames, single_frame
from bench.stages import Stage, started
from headrace.queues.names import persist_queue
from loadtest.client.target import Target

STATE = ROOT / ".local" / "bench-erasing"
PERSON, OTHER = "erased-person", "other-person"
BATCH, OTHERS = 400, 100
"""Messages of the person, and of the other one, in one request."""
SHARE = 0.3
AIM = 0.9
UNPACED, PACED = "as fast as they can", f"at {SHARE:.0%} of it"
LOADS = (UNPACED, PACED)
DATABASE = "DynamoDB emulator"
MESSAGE, PAGE = "message", "page"


@asynccontextmanager
async def pages(target: Target, place: int) -> AsyncIterator[Send]:
    """A connection that reads the newest pages of the rooms."""
    headers = {"authorization": f"Bearer {target.token_for(f'reader-{place}', 'chat:read')()}"}
    async with aiohttp.ClientSession(headers=headers) as session:

        async def read(number: int) -> None:
            async with session.get(f"{target.http_url}/rooms/room-{number % CONNECTIONS}/messages") as answer:
                text = await answer.text()
                if answer.status != 200:
                    raise SystemExit(f"not read: {text[:500]}")

        yield read


KINDS = {MESSAGE: lambda target, place: frames(target, single_frame, place), PAGE: pages}
EACH = CONNECTIONS // len(KINDS)
"""Connections of a kind."""


class ErasingStage(Stage):
    """A stage with a user who is erased. ``found`` has the rounds by phase and load, and by measure."""

    def __init__(self) -> None:
        super().__init__(STATE)
        self._rate = 0.0

    def start(self) -> None:
        """Start it, and open what is asked later."""
        super().start()
        self._operator = self.target.http("operator", "ops")
        self._erasure = f"/users/{PERSON}/erasure"

    def fill(self, messages: int) -> None:
        """Store the messages of the person and of the other one."""
        producer = self.target.http("producer", "events:write")
        for start in range(0, messages, BATCH):
            count = min(BATCH, messages - start)
            users = [PERSON] * count + [OTHER] * (count * OTHERS // BATCH)
            events = [
                {"roomId": f"room-{number % CONNECTIONS}", "userId": user, "message": f"what was said {start + number}"}
                for number, user in enumerate(users)
            ]
            producer.post("/messages/batch", {"events": events})
            self._drain()  # a backlog would be refused
        self._settle()

    def warm_up(self, seconds: float) -> None:
        """Start the functions, and find out how much the stage can do."""
        for _ in range(2):
            found, spent = uvloop.run(self._traffic(seconds))
            self._settle()
        self._rate = SHARE * sum(map(len, found.values())) / spent

    def begin(self) -> None:
        """Begin the erasure, and wait until it erases messages."""
        self._operator.post(self._erasure, {})
        while not self.erased():
            time.sleep(0.5)

    def erased(self) -> int:
        """Messages that are erased."""
        return int(self._operator.get(self._erasure)["counts"].get("messages", 0))

    def is_done(self) -> bool:
        """Whether the erasure is done."""
        return bool(self._operator.get(self._erasure)["state"] == "done")

    def measure(self, phase: str, load: str, seconds: float) -> None:
        """Add the numbers of one round."""
        self.cpu()
        found, spent = uvloop.run(self._traffic(seconds, self._rate if load == PACED else 0.0))
        used = self.cpu()
        stored = spent + self._drain()
        rates = {kind: len(each) / (stored if kind == MESSAGE else spent) for kind, each in found.items()}
        measures = {"requests/s": sum(rates.values()), **{f"{kind}s/s": rate for kind, rate in rates.items()}}
        for kind, latencies in found.items():
            for percent in (50, 99):
                measures[f"{kind} p{percent}, ms"] = percentile(sorted(latencies), percent) * 1e3
        cpu = {"erase_users": used.get("EraseUsers", 0.0), DATABASE: used.get(DATABASE, 0.0), "all": sum(used.values())}
        measures |= {f"CPU of {name}, % of a core": 100 * each / spent for name, each in cpu.items()}
        for measure, number in measures.items():
            self.found[phase, f"{load}: {measure}"].append(number)

    async def _traffic(self, seconds: float, rate: float = 0.0) -> tuple[dict[str, list[float]], float]:
        """Send and read for some seconds: the seconds until each answer, by kind, and those that it took.

        With a ``rate`` of requests per second, the seconds of a request begin when it was due.
        """
        found: dict[str, list[float]] = {kind: [] for kind in KINDS}
        async with AsyncExitStack() as stack:
            opened = [
                (kind, await stack.enter_async_context(connect(self.target, place)))
                for place in range(EACH)
                for kind, connect in KINDS.items()
            ]
            start = time.perf_counter()

            async def one(place: int, kind: str, request: Send) -> None:
                for turn in itertools.count():
                    due = start + (turn * len(opened) + place) / rate if rate else time.perf_counter()
                    if due > start + seconds:
                        return
                    await asyncio.sleep(due - time.perf_counter())
                    await request(next(self.numbers))
                    found[kind].append(time.perf_counter() - due)

            await asyncio.gather(*(one(place, *each) for place, each in enumerate(opened)))
            return found, time.perf_counter() - start

    def _drain(self) -> float:
        """Seconds until no message waits to be stored."""
        began = time.perf_counter()
        while self.waiting(persist_queue("chat", 0)):
            time.sleep(0.05)
        return time.perf_counter() - began

    def _settle(self) -> None:
        """Wait until persist_events has nothing to do."""
        self._drain()
        self.cpu_until_stored()


def main(rounds: int, seconds: float, messages: int) -> list[Series]:
    stage = ErasingStage()

    def measure(phase: str) -> None:
        for _ in range(rounds):
            for load in LOADS:
                stage.measure(phase, load, seconds)

    with started(stage):
        stage.fill(messages)
        stage.warm_up(seconds)
        measure("before")
        began = time.monotonic()
        stage.begin()
        measure("beside")
        if stage.erased() >= messages:
            raise SystemExit("the messages were erased before the rounds ended: give more --messages")
        while stage.erased() < messages:
            time.sleep(1.0)
        erased = time.monotonic() - began
        time.sleep(3.0)  # the other steps find nothing
        measure("after")
        found = report(stage)
        while not stage.is_done():
            time.sleep(1.0)
        done = time.monotonic() - began
    print(f"\n{messages:,} messages were erased after {erased:.0f} s; done after {done:.0f} s")
    return [*found, figure("seconds until the messages were erased", [erased], "s")]


def report(stage: ErasingStage) -> list[Series]:
    """Print the table; returns its ratios and figures."""
    head("other users", "without", "beside", "ratio", "aim")
    found = []
    for phase, measure in list(stage.found):
        if phase != "beside":
            continue
        beside = stage.found[phase, measure]
        around = zip(stage.found["before", measure], stage.found["after", measure], strict=True)
        usual = [sum(each) / 2 for each in around]
        quotient, aim = "", "–"
        if "CPU" not in measure:
            is_rate = measure.endswith("/s")
            found.append(ratio(measure, beside, usual, "higher" if is_rate else "lower"))
            quotient, aim = f"{found[-1].median:.2f}×", f"≥ {AIM:g}×" if is_rate else aim
        row(measure, median_text(usual), median_text(beside), quotient, aim)
    return [*found, *stage.figures()]


if __name__ == "__main__":
    command(__doc__, main, 3, seconds=6.0, messages=100_000)
