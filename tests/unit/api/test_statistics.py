"""Latencies of requests are summed over environments in the cache."""

from __future__ import annotations

import threading
from typing import Any

from headrace.api.statistics import EVERY_SECONDS, RequestTimes
from headrace.core.errors import CacheUnavailable


class Cache:
    """Records the reported sums; every call waits until ``gate`` is set."""

    def __init__(self) -> None:
        self.reported: list[tuple[Any, ...]] = []
        self.found: Any = {}
        self.failure: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.seen = threading.Event()

    def run(self, commands: list[tuple[Any, ...]]) -> list[Any]:
        self.gate.wait(5)
        (command,) = commands
        if self.failure is not None:
            raise self.failure
        if command[0] == "HGETALL":
            return [self.found]
        self.reported.append(command[6:])
        self.seen.set()
        return [1]


class Clocked:
    """Latencies with a clock that tests move."""

    def __init__(self) -> None:
        self.cache = Cache()
        self.now = 0.0
        self.latencies = RequestTimes(self.cache, monotonic=lambda: self.now)

    def add(self, route: str, seconds: float) -> None:
        self.latencies.add(route, seconds)
        if self.latencies._background._running is not None and self.cache.gate.is_set():
            self.latencies._background._running.result(5)


def test_latencies_are_reported_at_once_and_then_once_a_second() -> None:
    clocked = Clocked()
    for _ in range(10):
        clocked.add("GET /a", 0.002)
    clocked.add("GET /b", 0.5)
    clocked.now += EVERY_SECONDS
    clocked.add("GET /a", 0.004)

    assert clocked.cache.reported == [
        ("GET /a", 1, 2000, 2000),
        ("GET /a", 10, 22000, 4000, "GET /b", 1, 500000, 500000),
    ]


def test_a_cache_that_does_not_answer_delays_no_request() -> None:
    clocked = Clocked()
    clocked.cache.gate.clear()

    for number in range(20):
        clocked.now = number * EVERY_SECONDS
        clocked.add("GET /a", 0.001)

    assert clocked.latencies._sums["GET /a"][0] >= 19, "a second call was started"
    clocked.cache.gate.set()


def test_an_unavailable_cache_loses_only_the_sums() -> None:
    clocked = Clocked()
    clocked.cache.failure = CacheUnavailable("down")
    clocked.add("GET /a", 0.001)
    clocked.cache.failure = None
    clocked.now += EVERY_SECONDS
    clocked.add("GET /a", 0.001)

    assert clocked.cache.reported == [("GET /a", 1, 1000, 1000)]


def test_statistics_have_the_shape_of_the_skidataapi() -> None:
    clocked = Clocked()
    fields = {b"since": b"then", b"n GET /resorts": b"4", b"s GET /resorts": b"10000", b"m GET /resorts": b"7001"}
    clocked.cache.found = fields

    assert clocked.latencies.read() == {
        "endpointStats": [{"URL": "/resorts", "operation": "GET", "mean": 2.5, "max": 7.001}],
        "since": "then",
    }
