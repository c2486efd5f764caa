"""Measures how soon subscribers have caught up after a cut: ``python -m bench.live.cuts``.

Starts its own stage. 100 subscribers follow a room with the Python client, into which 50 messages a second are sent.
After 20 seconds all connections are cut, and open again together after 5 seconds. A subscriber has caught up when it
has every message that was sent before that. Random pauses before connecting pass during the cut.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

from bench import ROOT
from bench.live.run import Run
from bench.rounds import Series, command, figure, head, row
from bench.stages import Stage, started
from headrace_client import Rooms
from loadtest.client.target import Target

STATE = ROOT / ".local" / "bench-live"
BEFORE_SECONDS = 20.0
AFTER_SECONDS = 5.0


def hold(rooms: Rooms, gate: asyncio.Event) -> None:
    """Let a client connect only while ``gate`` is open."""
    serve = rooms.connection._serve

    async def held(session: Any) -> None:
        await gate.wait()
        await serve(session)

    rooms.connection._serve = held  # type: ignore[method-assign]


async def measure(target: Target, seconds: float, rate: float, subscribers: int) -> list[Series]:
    """Cut all subscribers once; a message that is missing ends the benchmark."""
    run, gate = Run(target, subscribers), asyncio.Event()
    gate.set()
    for each in run.subscribers:
        hold(each.rooms, gate)
    async with run.following():
        sending = asyncio.create_task(run.send_messages(rate, BEFORE_SECONDS + seconds + AFTER_SECONDS))
        await asyncio.sleep(BEFORE_SECONDS)
        gate.clear()
        await run.cut(subscribers)
        await asyncio.sleep(seconds)
        had = [set(each.received_at) for each in run.subscribers]
        fetched, opened_at = run.counted("fetched"), time.monotonic()
        gate.set()
        await sending
        await run.wait_for_all(30)
        missed = {message for message, at in run.sent_at.items() if at < opened_at} & run.accepted
        return report(run, opened_at, [missed - each for each in had], run.counted("fetched") - fetched)


def report(run: Run, opened_at: float, missed: list[set[str]], fetched: int) -> list[Series]:
    """Print the table; returns its numbers."""
    if run.missing():
        raise SystemExit(f"{run.missing()} messages are missing")
    caught_up = sorted(
        1000 * (max(each.received_at[message] for message in messages) - opened_at)
        for each, messages in zip(run.subscribers, missed, strict=True)
        if messages
    )
    sent = fetched / max(1, sum(map(len, missed)))
    head("", "", "aim")
    row("caught up, median · last", f"{statistics.median(caught_up):.0f} · {caught_up[-1]:.0f} ms", "≤ 400 · 800 ms")
    row("rows fetched for each that was missed", f"{sent:.2f} of {sum(map(len, missed)):,}", "≤ 1.3")
    row("messages missing · dropped as repeated", f"{run.missing()} · {run.counted('repeated'):,}", "0 · –")
    return [
        figure("caught up, median", [statistics.median(caught_up)], "ms"),
        figure("caught up, last", [caught_up[-1]], "ms"),
        figure("rows fetched for each that was missed", [sent], "×"),
    ]


def main(rounds: int, seconds: float, rate: float, subscribers: int) -> list[Series]:
    stage = Stage(STATE)
    with started(stage):
        runs = (asyncio.run(measure(stage.target, seconds, rate, subscribers)) for _ in range(rounds))
        return [each for run in runs for each in run]


if __name__ == "__main__":
    command(__doc__, main, 1, seconds=5.0, rate=50.0, subscribers=100)
