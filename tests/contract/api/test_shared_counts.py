"""Environments share their counts of events through a real cache that is one node of a cluster."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.api.rates.rate_limiter import EXPIRE_SECONDS, RateLimiter, SharedCounts, rate_key
from headrace.api.rates.sliding_window import SLOTS, Counts
from headrace.core.caller import Caller
from headrace.core.errors import CacheUnavailable
from headrace.runtime.observability import Meter
from headrace.runtime.settings import RateSettings
from headrace.storage.redis import Cache, connect
from tests.contract.redis_node import RedisNode
from tests.fakes.commands import MemoryCommands

KEY = rate_key("events", "alice", trusted=False)
ALICE = Caller("alice", "Alice", frozenset({"chat:write"}), 4_102_444_800)
NOW = 100 * SLOTS + 5
"""A slot early in its window, whose counts are in two hashes."""


@pytest.fixture(params=["memory", "redis"])
def shared(request: pytest.FixtureRequest) -> SharedCounts:
    if request.param == "memory":
        return SharedCounts(MemoryCommands())
    return of(request.getfixturevalue("redis_node"))


def of(node: RedisNode) -> SharedCounts:
    node.start()
    connect(node.settings, 1.0).flushall()
    return SharedCounts(Cache.of(node.settings))


def test_reports_of_environments_are_summed_by_slot(shared: SharedCounts) -> None:
    shared.exchange({KEY: Counts({NOW: 3, NOW - SLOTS: 4}, 0)}, NOW)
    (counts,) = shared.exchange({KEY: Counts({NOW: 5}, 0)}, NOW)

    assert counts == Counts({NOW - SLOTS: 4, NOW: 8}, 0)


def test_senders_are_separate_and_answered_in_order(shared: SharedCounts) -> None:
    keys = [rate_key("events", f"user-{number}", trusted=False) for number in range(20)]
    counts = shared.exchange({key: Counts({NOW: number + 1}, 0) for number, key in enumerate(keys)}, NOW)

    assert [each.events[NOW] for each in counts] == list(range(1, 21))
    others = (rate_key("events", "user-1", trusted=True), rate_key("reads", "user-1", trusted=False))
    assert shared.exchange(dict.fromkeys(others, Counts({}, 0)), NOW) == [Counts({}, 0)] * 2


def test_only_the_counts_of_the_last_window_are_read(shared: SharedCounts) -> None:
    shared.exchange({KEY: Counts({NOW: 40}, 0)}, NOW)

    later = [shared.exchange({KEY: Counts({}, 0)}, slot)[0].events for slot in (NOW + SLOTS, NOW + 2 * SLOTS)]
    assert later == [{NOW: 40}, {}]


def test_all_environments_read_when_a_closed_window_opens(shared: SharedCounts) -> None:
    shared.exchange({KEY: Counts({NOW: 50}, NOW + SLOTS + 1)}, NOW)

    (counts,) = shared.exchange({KEY: Counts({}, NOW)}, NOW + SLOTS)
    assert counts.resume_slot == NOW + SLOTS + 1


def test_the_counts_of_an_inactive_sender_expire(redis_node: RedisNode) -> None:
    of(redis_node).exchange({KEY: Counts({NOW: 30, NOW - SLOTS: 1}, NOW + 9)}, NOW)

    client = connect(redis_node.settings, 1.0)
    keys = list(client.scan_iter())
    assert len(keys) == 2
    assert all(0 < client.ttl(key) <= EXPIRE_SECONDS for key in keys)


def test_a_synchronization_without_the_cache_fails(redis_node: RedisNode) -> None:
    shared = of(redis_node)
    redis_node.kill()

    with pytest.raises(CacheUnavailable):
        shared.exchange({KEY: Counts({NOW: 1}, 0)}, NOW)


@pytest.mark.parametrize("size", [500, 100])
def test_environments_that_start_at_once_enforce_one_limit(redis_node: RedisNode, size: int) -> None:
    of(redis_node)
    caches = [SharedCounts(Cache.of(redis_node.settings)) for _ in range(16)]
    limiters = [RateLimiter(RateSettings(event_rate=100), cache, lambda: 1000.0) for cache in caches]
    for cache in caches:  # connects
        cache.exchange({KEY: Counts({}, 0)}, NOW)
    start = threading.Barrier(len(limiters))

    def admitted(limiter: RateLimiter) -> int:
        start.wait(5)
        return limiter.admit(ALICE, size, Meter())[0]

    with ThreadPoolExecutor(len(limiters)) as threads:
        assert sum(threads.map(admitted, limiters)) == 500
    assert [limiter.admit(ALICE, 1, Meter())[0] for limiter in limiters].count(1) <= 500 // size
