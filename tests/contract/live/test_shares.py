"""The indexes of connections are read only where a user may be over a limit."""

from __future__ import annotations

import pytest

from headrace.core.caller import Caller
from headrace.live.connections import CONNECTION_SECONDS, GRACE_SECONDS
from headrace.live.routes import CONNECTIONS_PER_ROOM, ROOMS_PER_CONNECTION
from headrace.live.shares import Shares
from headrace.storage.redis import RedisCache, connect
from tests.contract.redis_node import RedisNode

ALICE = Caller("alice", "Alice", frozenset({"chat:read"}), 4_102_444_800)
BOB = Caller("bob", "Bob", frozenset({"chat:read"}), 4_102_444_800)
TRUSTED = Caller("bridge", "Bridge", frozenset({"events:write"}), 4_102_444_800)


@pytest.fixture
def shares(redis_node: RedisNode) -> Shares:
    redis_node.start()
    connect(redis_node.settings, 1.0).flushall()
    return Shares(RedisCache.of(redis_node.settings))


def test_a_user_with_as_many_subscriptions_of_a_room_as_allowed_is_counted_in_the_index(shares: Shares) -> None:
    small = [shares.is_small(ALICE, "kitchen", f"c-{number}") for number in range(CONNECTIONS_PER_ROOM + 1)]

    assert small == [True] * CONNECTIONS_PER_ROOM + [False]
    assert shares.is_small(ALICE, "hall", "c-0")
    assert shares.is_small(BOB, "kitchen", "c-b")
    assert all(shares.is_small(TRUSTED, "kitchen", f"t-{number}") for number in range(CONNECTIONS_PER_ROOM + 1))


def test_a_connection_with_as_many_rooms_as_allowed_is_counted_in_the_index(shares: Shares) -> None:
    small = [shares.is_small(ALICE, f"room-{number}", "c-1") for number in range(ROOMS_PER_CONNECTION + 1)]

    assert small == [True] * ROOMS_PER_CONNECTION + [False]
    assert shares.is_small(ALICE, "room-0", "c-2")


def test_a_connection_has_rooms_from_its_first_subscription_on(shares: Shares) -> None:
    assert not shares.has_rooms(ALICE, "c-1")

    shares.is_small(ALICE, "kitchen", "c-1")

    assert shares.has_rooms(ALICE, "c-1")
    assert not shares.has_rooms(ALICE, "c-2")
    assert shares.has_rooms(TRUSTED, "t-1")


def test_counts_last_longer_than_a_connection(shares: Shares, redis_node: RedisNode) -> None:
    shares.is_small(ALICE, "kitchen", "c-1")
    redis = connect(redis_node.settings, 1.0)

    left = [redis.ttl(key) for key in redis.scan_iter()]

    assert len(left) == 2
    assert all(CONNECTION_SECONDS < seconds <= CONNECTION_SECONDS + GRACE_SECONDS for seconds in left)


def test_without_the_cache_every_subscription_is_counted_in_the_index(redis_node: RedisNode) -> None:
    redis_node.kill()

    without = Shares(RedisCache.of(redis_node.settings))

    assert not without.is_small(ALICE, "kitchen", "c-1")
    assert without.has_rooms(ALICE, "c-1")
