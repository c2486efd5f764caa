"""Measures the cost and the accuracy of the rate limit of senders: ``python -m bench.rate_limit``.

Starts the services of a stage for their Redis. Costs are real times, medians of the rounds. Admission is simulated: one
sender, a limit of 100 events/s, and environments that exchange counts through Redis once a second, with a delay of
0.1 s. For comparison: the usual two counters, the previous one weighted by its overlap with the window; and for the
exchange, a PING of Redis over the same connection.
"""

from __future__ import annotations

import asyncio
import itertools
import time
import timeit
from collections import Counter, deque
from collections.abc import Callable, Iterable
from statistics import median

from bench.rounds import Series, command, figure, head, ratio, row
from bench.services import running
from headrace.api.rates.rate_limiter import RateLimiter, SharedCounts
from headrace.api.rates.sliding_window import SLOT_SECONDS, WINDOW_SECONDS, Counts, Limit, SlidingWindow
from headrace.core.caller import Caller
from headrace.runtime.observability import Meter
from headrace.runtime.settings import CacheSettings, RateSettings
from headrace.storage.redis import RedisCache, connect

LIMIT = Limit(rate=100)
START, WARM_UP, SECONDS = 1000, 5, 65


class TwoCounters:
    """One counter per ``WINDOW_SECONDS``, with the same hysteresis."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._closed = False

    def admit(self, events: int, now: float) -> int:
        window, elapsed = divmod(now / WINDOW_SECONDS, 1)
        total = self._counts[int(window)] + self._counts[int(window) - 1] * (1 - elapsed)
        self._closed = self._closed and total > LIMIT.resume_below
        admitted = 0 if self._closed else min(events, int(LIMIT.most - total))
        self._closed = admitted < events
        self._counts[int(window)] += admitted
        return admitted


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
    return most / LIMIT.most


def bursts(make: Callable[[], SlidingWindow | TwoCounters]) -> tuple[float, int]:
    """The fullest window after a full batch and retries every 10 ms; events admitted of a second batch 5.25 s later."""
    full, second = 0.0, LIMIT.most
    for start in (START + number / 20 for number in range(100)):
        window, waiting = make(), make()
        full = max(full, fullest((at, window.admit(500, at)) for at in (start + pause / 100 for pause in range(1500))))
        waiting.admit(LIMIT.most, start)
        second = min(second, waiting.admit(LIMIT.most, start + WINDOW_SECONDS + SLOT_SECONDS))
    return full, second


def admitted_rate(factor: float, environments: int, shared: SharedCounts) -> tuple[float, float]:
    """Send single events at ``factor`` times the limit; returns admitted rate and fullest window as multiples."""
    windows = [SlidingWindow(LIMIT) for _ in range(environments)]
    next_exchange = [START + 1 + number / environments for number in range(environments)]
    answers: dict[int, tuple[float, Counts]] = {}
    admitted = []
    for number in range(int(SECONDS * LIMIT.rate * factor)):
        now, here = START + number / LIMIT.rate / factor, number % environments
        if here in answers and now >= answers[here][0]:
            windows[here].learn(answers.pop(here)[1], now)
        if here not in answers and now >= next_exchange[here]:
            report = {f"steadily:{factor}:{environments}": windows[here].report(now)}
            answers[here] = (now + 0.1, shared.exchange(report, int(now / SLOT_SECONDS))[0])
            next_exchange[here] = now + 1
        admitted.append((now, windows[here].admit(1, now)))
    steady = sum(events for at, events in admitted if at >= START + WARM_UP)
    return steady / LIMIT.rate / (SECONDS - WARM_UP), fullest(admitted)


def microseconds(call: Callable[[], object], calls: int, rounds: int) -> list[float]:
    """Microseconds of one call, in each round of ``calls``."""
    return [seconds / calls * 1e6 for seconds in timeit.repeat(call, number=calls, repeat=rounds)]


def measure(shared: SharedCounts, ping: Callable[[], object], rounds: int) -> list[Series]:
    """Print the costs and the tables; returns their numbers."""
    limiter, meter = RateLimiter(RateSettings(event_rate=100_000), shared), Meter()
    caller, slot = Caller("alice", "Alice", frozenset(), 0), int(time.time() / SLOT_SECONDS)
    few, many = ({f"sender:{number}": Counts({slot: 1}, 0) for number in range(count)} for count in (1, 500))
    request = microseconds(lambda: limiter.admit(caller, 1, meter), 20_000, rounds)
    one, pings = [], []
    for _ in range(rounds):  # they take turns, so that other work on this machine affects both
        one += microseconds(lambda: shared.exchange(few, slot), 300, 1)
        pings += microseconds(ping, 300, 1)
    all_senders = microseconds(lambda: shared.exchange(many, slot), 5, rounds)
    print(f"one request: {median(request):.1f} µs")
    print(f"exchange of one sender's counts: {median(one):,.0f} µs; a PING: {median(pings):,.0f} µs")
    print(f"exchange of 500 senders' counts: {median(all_senders):,.0f} µs")
    found = [
        ratio("exchange of one sender's counts, time against a PING", one, pings, "lower"),
        figure("one request", request, "µs"),
        figure("exchange of 500 senders' counts", all_senders, "µs"),
    ]
    for name, make in (("slots", lambda: SlidingWindow(LIMIT)), ("two counters", TwoCounters)):
        full, second = bursts(make)
        print(
            f"{name}: bursts fill a window to {full:.2f}× the limit; {second} of the second batch of 500 are admitted"
        )
        found += (
            [Series("fullest window of bursts against the limit", (full,), "×", "lower")] if name == "slots" else []
        )
    print()
    head("sent", "environments", "admitted", "fullest window")
    for factor, environments in itertools.product((0.5, 0.95, 1, 2, 5), (1, 4, 16)):
        admitted, most = admitted_rate(factor, environments, shared)
        row(f"{factor:g}×", f"{environments}", f"{admitted:.2f}×", f"{most:.2f}×")
        where = f"sent {factor:g}× from {environments} environments"
        if factor == 1:
            found.append(Series(f"{where}: admitted rate against the limit", (admitted,), "×", "higher"))
        elif factor > 1:
            found.append(Series(f"{where}: fullest window against the limit", (most,), "×", "lower"))
    return found


async def main(rounds: int) -> list[Series]:
    async with running() as endpoints:
        cache = CacheSettings(cache_endpoint=endpoints.cache_endpoint)
        bare = connect(cache, 5.0)
        return await asyncio.to_thread(measure, SharedCounts(RedisCache.of(cache)), bare.ping, rounds)


if __name__ == "__main__":
    command(__doc__, main, 9)
