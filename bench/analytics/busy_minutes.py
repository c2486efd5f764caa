"""Measures windows that end, and windows that begin, in a busy minute."""

from __future__ import annotations

from bench.analytics.world import HOUR_START, MINUTE, TABLE, BenchWorld, Environment, empty_cache, messages
from bench.rounds import Series, figure, head, ratio, row
from bench.rows import CHAT_KEY, fill

SECOND = 1_000_000
LATER = 5 * SECOND
"""How much later the next question is asked, about a window that ends so much later."""
FIRST = "asked first"
WAYS = (
    (f"open minute, {FIRST}", "–"),
    ("open minute, repeated within 2 s", "≤ 15 ms"),
    ("open minute, 5 s later", "–"),
    ("open minute, 5 s later in a new environment", "–"),
    (f"first minute of a window, {FIRST}", "–"),
    ("first minute of a window, repeated", "≤ 15 ms"),
    ("first minute of a window that begins 1 s later", "–"),
)
"""What is measured in each round, and the aim. The others are compared with what was asked first."""


def busy_minutes(world: BenchWorld, counts: list[int], rounds: int) -> list[Series]:
    """Print the table of a busy minute for each count of messages; returns its numbers."""
    hours = [HOUR_START + number * 60 * MINUTE for number in range(len(counts))]
    return [each for start, count in zip(hours, counts, strict=True) for each in _minute(world, start, count, rounds)]


def _minute(world: BenchWorld, start: int, count: int, rounds: int) -> list[Series]:
    # Their rate lasts until the next question.
    fill(TABLE, CHAT_KEY, messages(start, MINUTE + LATER, count * (MINUTE + LATER) // MINUTE, 3))
    print(f"\n{count:,} messages in one minute\n")
    head("a window with this minute", "p50", "read units", "aim")
    seen = [_round(world, start, count) for _ in range(rounds)]
    found: list[Series] = []
    for number, (way, aim) in enumerate(WAYS):
        took = figure(f"{count:,}: {way}", (each[number][0] for each in seen), "ms")
        row(way, f"{took.median:,.1f} ms", f"{seen[-1][number][1]:,.1f}", aim)
        found.append(took)
        if way.endswith(FIRST):
            first = took.values
        else:
            found.append(ratio(f"{took.name}, time against {FIRST}", took.values, first, "lower"))
    return found


def _round(world: BenchWorld, minute: int, count: int) -> list[tuple[float, float]]:
    """Ask in each of ``WAYS``; returns milliseconds and read units."""
    found = []

    def ask(by: Environment, now: int, start: int, end: int) -> None:
        world.clock.micros = now
        took, units, answer = by.ask(start, end)
        expected = count * (end - max(start, minute)) / MINUTE
        if abs(answer["totalMessages"] - expected) > 1:
            raise SystemExit(f"{answer['totalMessages']} are not {expected}")
        found.append((took, units))

    empty_cache(world.cache_port)
    environment, start, end = world.environment(), minute - 5 * MINUTE, minute + MINUTE
    ask(environment, end, start, end)
    ask(environment, end + SECOND, start, end)
    for each in (environment, world.environment()):
        ask(each, end + LATER, start, end + LATER)
    empty_cache(world.cache_port)
    environment, start, later = world.environment(), minute + 7_300_000, minute + 30 * MINUTE
    for cut in (start, start, start + SECOND):
        ask(environment, later, cut, end)
    return found
