"""How long events of each queue wait is shared through a real cache."""

from __future__ import annotations

import pytest

from headrace.core.errors import CacheUnavailable
from headrace.delivery.backlog import FRESH_SECONDS, LONGEST_SECONDS, SharedWaits
from headrace.storage.redis import Cache, connect
from tests.contract.redis_node import RedisNode
from tests.fakes.clock import FixedClock
from tests.fakes.commands import MemoryCommands
from tests.worlds.senders import NOW


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture(params=["memory", "redis"])
def waits(request: pytest.FixtureRequest, clock: FixedClock) -> SharedWaits:
    if request.param == "memory":
        return SharedWaits(MemoryCommands(), clock)
    node: RedisNode = request.getfixturevalue("redis_node")
    node.start()
    connect(node.settings, 1.0).flushall()
    return SharedWaits(Cache.of(node.settings), clock)


def test_the_longest_fresh_wait_of_a_streams_queues_counts(waits: SharedWaits, clock: FixedClock) -> None:
    assert waits.read(["chat", "ski"]) == {"chat": 0.0, "ski": 0.0}

    waits.write("persist.chat.0", 90.04)
    clock.advance(1)
    waits.write("persist.chat.1", 31.26)
    waits.write("persist.ski.0", 2.0)

    assert waits.read(["ads", "chat", "ski"]) == {"ads": 0.0, "chat": 90.0, "ski": 2.0}
    waits.write("persist.chat.0", 12)
    assert waits.read(["chat"]) == {"chat": 31.3}
    clock.advance(FRESH_SECONDS)
    assert waits.read(["chat", "ski"]) == {"chat": 0.0, "ski": 0.0}


def test_a_wait_leaves_the_cache_when_it_is_not_shared_again(redis_node: RedisNode, clock: FixedClock) -> None:
    redis_node.start()
    cache = Cache.of(redis_node.settings)

    SharedWaits(cache, clock).write("persist.chat.0", 90)

    assert 0 < cache.run([("TTL", "backlog:chat")])[0] <= LONGEST_SECONDS


def test_without_the_cache_both_sides_know_it(redis_node: RedisNode, clock: FixedClock) -> None:
    redis_node.kill()
    waits = SharedWaits(Cache.of(redis_node.settings), clock)

    with pytest.raises(CacheUnavailable):
        waits.write("persist.chat.0", 90)
    with pytest.raises(CacheUnavailable):
        waits.read(["chat"])
