"""Measures how far all environments together exceed a user's limit: ``python -m bench.rate_limit``.

Starts the services of a stage for their Redis, which the environments share. The clock is simulated, the exchanges are
real. A user sends to environments that start at once, 100 events/s are allowed: steadily, at five times the limit, to
one environment after the other; and in bursts, a batch of 500 to all of them at the same moment, every two seconds.
The aim is at most 1.5 times the limit in any window.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from bench.rounds import Series, command, head, row
from bench.services import running
from headrace.api.rates.rate_limiter import RateLimiter, SharedCounts
from headrace.api.rates.sliding_window import WINDOW_SECONDS, Limit
from headrace.core.caller import Caller
from headrace.runtime.observability import Meter
from headrace.runtime.settings import CacheSettings, RateSettings
from headrace.storage.redis import RedisCache, connect

RATE = 100
AIM = 1.5
SECONDS = 30
USER = Caller("alice", "Alice", frozenset(), 0)

Sent = Iterator[tuple[float, int, list[int]]]
"""The times at which a user sends, the events of each request, and the environments that get one."""


def steadily(environments: int) -> Sent:
    """Single events at five times the limit."""
    for number in range(SECONDS * RATE * 5):
        yield number / RATE / 5, 1, [number % environments]


def in_bursts(environments: int) -> Sent:
    """A batch of 500 for each environment, every two seconds."""
    for number in range(SECONDS // 2):
        yield 2.0 * number, 500, list(range(environments))


def fullest(admitted: Iterable[tuple[float, int]]) -> float:
    """The most events in any ``WINDOW_SECONDS``, as a multiple of the limit."""
    window: deque[tuple[float, int]] = deque()
    most = total = 0
    for at, events in admitted:
        window.append((at, events))
        total += events
        while window[0][0] <= at - WINDOW_SECONDS:
            total -= window.popleft()[1]
        most = max(most, total)
    return most / Limit(RATE).most


def admitted(sent: Sent, environments: int, cache: CacheSettings) -> list[tuple[float, int]]:
    """The times and numbers of the events that the environments admit, which start with an empty cache."""
    connect(cache, 5.0).flushall()
    now, meter = [0.0], Meter()
    caches = [RedisCache(lambda: connect(cache, 5.0)) for _ in range(environments)]
    limiters = [RateLimiter(RateSettings(event_rate=RATE), SharedCounts(each), lambda: now[0]) for each in caches]
    found = []
    with ThreadPoolExecutor(environments) as at_once:
        for at, events, targets in sent:
            now[0] = 1000.0 + at
            passed = at_once.map(lambda each: limiters[each].admit(USER, events, meter)[0], targets)  # noqa: B023
            found.append((at, sum(passed)))
    return found


def measure(cache: CacheSettings, rounds: int) -> list[Series]:
    """Print the table; returns its numbers."""
    found = []
    head("sent", "environments", "admitted", "fullest window", "aim")
    for environments in (1, 4, 16):
        for name, send in (("steadily, 5×", steadily), ("in bursts", in_bursts)):
            runs = [admitted(send(environments), environments, cache) for _ in range(rounds)]
            label = f"environments: {environments}, {name}: fullest window against the limit"
            most = Series(label, tuple(map(fullest, runs)), "×", "lower")
            rate = sum(events for _, events in runs[0]) / SECONDS / RATE
            row(name, f"{environments}", f"{rate:.2f}×", f"{max(most.values):.2f}×", f"≤ {AIM}×")
            found.append(most)
    return found


async def main(rounds: int) -> list[Series]:
    async with running() as endpoints:
        return await asyncio.to_thread(measure, CacheSettings(cache_endpoint=endpoints.cache_endpoint), rounds)


if __name__ == "__main__":
    command(__doc__, main, 3)
