"""The sums of all environments, in memory and in a real cache that is one node of a cluster."""

from __future__ import annotations

import time

import pytest

from headrace.core.caller import Caller
from headrace.core.errors import CacheUnavailable
from headrace.core.keys import rate_key
from headrace.ingest.rate_limiter import Throttle
from headrace.ingest.shared_counts import MemoryRateSums, RateSums, RedisRateSums, Told
from headrace.ingest.sliding_window import STEP_SECONDS, WINDOW_SECONDS, Limit
from headrace.runtime.observability import Meter
from headrace.runtime.settings import RateSettings
from headrace.storage.redis import RedisCache, connect
from tests.contract.redis_node import RedisNode

LIMIT = Limit(10, 50)
KEY = rate_key("alice", trusted=False)
ALICE = Caller("alice", "Alice", frozenset({"chat:write"}), 4_102_444_800)


@pytest.fixture(params=["memory", "redis"])
def sums(request: pytest.FixtureRequest) -> RateSums:
    if request.param == "memory":
        return MemoryRateSums(time.monotonic)
    return of(request.getfixturevalue("redis_node"))


def of(node: RedisNode) -> RedisRateSums:
    node.start()
    connect(node.settings, 1.0).flushall()
    return RedisRateSums(RedisCache.of(node.settings))


def told(*counts: tuple[float, int], key: str = KEY, is_on: bool = False) -> Told:
    return Told(key, LIMIT, counts, is_on)


def test_what_environments_tell_adds_up_and_keeps_its_age(sums: RateSums) -> None:
    sums.exchange([told((0.0, 3), (2.0, 4))])
    (known,) = sums.exchange([told((0.0, 5))])

    assert sum(events for _, events in known.counts) == 12
    assert sum(events for age, events in known.counts if age >= 2.0 - STEP_SECONDS - 0.001) == 4
    assert all(-STEP_SECONDS <= age < WINDOW_SECONDS for age, _ in known.counts)
    assert not known.is_on


def test_senders_are_apart_and_answered_in_order(sums: RateSums) -> None:
    keys = [rate_key(f"user-{number}", trusted=False) for number in range(20)]
    known = sums.exchange([told((0.0, number + 1), key=key) for number, key in enumerate(keys)])

    assert [each.counts[0][1] for each in known] == list(range(1, 21))
    assert sums.exchange([told(key=rate_key("user-1", trusted=True))])[0].counts == []


def test_what_has_left_the_window_is_forgotten(sums: RateSums) -> None:
    sums.exchange([told((WINDOW_SECONDS + STEP_SECONDS, 40), is_on=True)])
    (known,) = sums.exchange([told()])

    assert (known.counts, known.is_on) == ([], False)


def test_a_limit_is_on_for_all_from_when_one_says_so_or_the_sum_is_over_it_until_little_is_left(sums: RateSums) -> None:
    assert [each.is_on for each in sums.exchange([told((0.0, 30), is_on=True), told()])] == [True, True]
    other = rate_key("bob", trusted=False)
    assert [each.is_on for each in sums.exchange([told((0.0, 50), key=other), told((0.0, 1), key=other)])] == [
        False,
        True,
    ]
    low = rate_key("carol", trusted=False)
    (known,) = sums.exchange([told((0.0, 25), key=low, is_on=True)])
    assert not known.is_on


def test_nothing_is_left_in_the_cache_of_who_sends_no_more(redis_node: RedisNode) -> None:
    of(redis_node).exchange([told((0.0, 30), is_on=True)])

    left = connect(redis_node.settings, 1.0).pttl(KEY)
    assert 0 < left <= (WINDOW_SECONDS + STEP_SECONDS) * 1000


def test_without_the_cache_it_says_so(redis_node: RedisNode) -> None:
    sums = of(redis_node)
    redis_node.kill()

    with pytest.raises(CacheUnavailable):
        sums.exchange([told((0.0, 1))])


def settled(throttle: Throttle, events: int) -> int:
    """How many of ``events`` pass; what the environment tells and learns with that has arrived."""
    throttle._told = float("-inf")
    passed, _ = throttle.admit(ALICE, events, Meter())
    assert throttle._under_way is not None
    throttle._under_way.result(5)
    return passed


def test_environments_that_share_a_cache_hold_one_limit_between_them(redis_node: RedisNode) -> None:
    of(redis_node)
    settings = RateSettings(event_rate=100, event_rate_off_percent=50)
    throttles = [Throttle(settings, RedisRateSums(RedisCache.of(redis_node.settings))) for _ in range(4)]

    first = [settled(each, 100) for each in throttles]
    second = [settled(each, 200) for each in throttles]

    assert first == [100] * 4
    # Each let through what fits into what it knew from its first question: 100, 200, 300 and 400 of 500.
    assert second == [200, 200, 200, 100]
    assert [settled(each, 1) for each in throttles] == [0] * 4


def test_the_cache_going_away_leaves_each_environment_its_own_limit_and_no_wait(redis_node: RedisNode) -> None:
    of(redis_node)
    throttle = Throttle(RateSettings(event_rate=10), RedisRateSums(RedisCache.of(redis_node.settings)))
    settled(throttle, 1)
    redis_node.kill()

    assert settled(throttle, 100) == 49
    assert throttle.admit(ALICE, 1, Meter())[0] == 0
