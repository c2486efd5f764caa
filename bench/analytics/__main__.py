"""Compares analytics with a plain scatter-gather over all items: ``python -m bench.analytics``.

Starts its own dynalite (data in memory) and Redis. It counts messages over 60 minutes (once per ``--sizes``), over one
minute (once per ``--minutes``) and over 24 hours (``--day``), evenly from 17,000 users in 20 rooms. Headrace's side is
the whole function, from the event to the answer. The clock is set by the benchmark, so it needs no waiting for the next
minute. The scatter-gather is boto3's ``client.query`` on all time shards in parallel, with all pages, as its
documentation shows it, and Python's ``Counter``.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.analytics.busy_minutes import busy_minutes
from bench.analytics.world import (
    HOUR_START,
    MINUTE,
    ROOMS,
    SETTLE,
    TABLE,
    USERS,
    BenchWorld,
    Environment,
    empty_cache,
    messages,
)
from bench.rounds import Series, command, figure, head, ratio, row
from bench.rows import CHAT_KEY, fill
from bench.services import create_table, database

WAYS = (
    ("plain scatter-gather over all items", "–"),
    ("cold", "–"),
    ("repeated in the same minute", "≤ 15 ms"),
    ("repeated in a new environment", "–"),
)
"""What is measured in each round, and the aim."""
LATER_WINDOWS = 10
"""Windows that are each a minute later: ten minutes complete a longer slot, which makes one of them slower."""


def show(what: str, milliseconds: float, units: float, aim: str) -> None:
    row(what, f"{milliseconds:,.1f} ms", f"{units:,.1f}", aim)


def repeat(ask: Callable[[], tuple[float, float, Any]], times: int) -> tuple[float, float, Any]:
    """Call ``ask`` several times; returns the median of the milliseconds, and units and answer of the last call."""
    seen = [ask() for _ in range(times)]
    return statistics.median(each[0] for each in seen), seen[-1][1], seen[-1][2]


def one_round(world: BenchWorld, end: int, count: int, calls: int) -> tuple[Environment, list[tuple[float, float]]]:
    """Ask for the window in each of the ways of ``WAYS``; returns the environment, and milliseconds and units."""
    start = HOUR_START
    empty_cache(world.cache_port)
    environment = world.environment()
    plain, units, total = world.scatter_gather(start, end)
    cold, cold_units, answer = environment.ask(start, end)
    if not answer["totalMessages"] == total == count:
        raise SystemExit(f"{answer['totalMessages']} and {total} are not {count}")
    again, again_units, same = repeat(lambda: environment.ask(start, end), calls)
    if {**same, "asOf": 0, "missing": 0} != {**answer, "asOf": 0, "missing": 0}:
        raise SystemExit("the repeated request has a different answer")
    other, other_units, _ = repeat(lambda: world.environment().ask(start, end), max(3, calls // 4))
    return environment, [(plain, units), (cold, cold_units), (again, again_units), (other, other_units)]


def measure(world: BenchWorld, count: int, calls: int, rounds: int, minutes: int = 60) -> list[Series]:
    """Print the table of a window of so many minutes; returns its numbers."""
    start, end = HOUR_START, HOUR_START + minutes * MINUTE
    name = f"{count:,}" if minutes == 60 else f"{count:,} in {minutes} minutes"
    world.clock.micros = end + (SETTLE + 3) * 1_000_000
    # Also messages of the minutes by which the window moves, and of two more.
    more = LATER_WINDOWS + 2
    fill(TABLE, CHAT_KEY, messages(start, minutes * MINUTE, count, 0))
    fill(TABLE, CHAT_KEY, messages(end, more * MINUTE, count * more // minutes, 1))
    print(f"\n{count:,} messages over {minutes} minutes, {USERS:,} users, {ROOMS} rooms\n")
    head(f"one window over all {minutes} minutes", "p50", "read units", "aim")
    world.environment().ask(start, start + 1_000_000)  # warms up the emulator and this process
    seen = [one_round(world, end, count, calls) for _ in range(rounds)]
    environment = seen[-1][0]
    found = []
    for number, (way, aim) in enumerate(WAYS):
        found.append(figure(f"{name}: {way}", (each[number][0] for _, each in seen), "ms"))
        show(way, found[-1].median, seen[-1][1][number][1], aim)
    late = []
    for number in range(1, LATER_WINDOWS + 1):
        world.clock.micros += MINUTE
        late.append(environment.ask(start + number * MINUTE, end + number * MINUTE))
    later = figure(f"{name}: a window that is one minute later", (each[0] for each in late), "ms")
    show("a window that is one minute later", later.median, late[-1][1], "≤ 80 ms" if count <= 200_000 else "≤ 250 ms")
    plain, cold, again, other = (each.values for each in found)
    gain = statistics.median(plain) / statistics.median(again)
    print(f"\nScatter-gather takes {gain:,.0f}× as long as a repeated request (aim ≥ 100×).")
    return [
        *found,
        later,
        *(
            ratio(f"{name}: {what}, time against a scatter-gather", ours, theirs, "lower")
            for what, ours, theirs in (
                ("cold", cold, plain),
                ("repeated", again, plain),
                ("repeated in a new environment", other, plain),
                ("one minute later", later.values, [statistics.median(plain)] * LATER_WINDOWS),
            )
        ),
    ]


def main(rounds: int, sizes: str, minutes: str, day: int, calls: int) -> list[Series]:
    # Millions of rows in the emulator's memory.
    os.environ.setdefault("NODE_OPTIONS", "--max-old-space-size=12000")
    import headrace.features.analytics.windows  # noqa: F401 - early: the code may be edited during a long run

    measures: list[Callable[[BenchWorld], list[Series]]] = [
        partial(measure, count=int(size), calls=calls, rounds=rounds) for size in sizes.split(",")
    ]
    measures.append(partial(busy_minutes, counts=[int(size) for size in minutes.split(",")], rounds=min(rounds, 3)))
    measures += [partial(measure, count=day, calls=calls, rounds=rounds, minutes=1440)] if day else []
    found: list[Series] = []
    for step in measures:
        with database(CACHE_ENDPOINT="127.0.0.1:1", POWERTOOLS_METRICS_DISABLED="true") as services:
            create_table(services.client(), TABLE, indexes=("TimeIndex",))  # the only one that is read here
            found += step(BenchWorld(services.cache_port))
    return found


if __name__ == "__main__":
    command(__doc__, main, 5, sizes="200000,1000000", minutes="50000,200000", day=1_000_000, calls=40)
