"""The counts of what users follow in a real cache."""

from __future__ import annotations

import pytest

from headrace.core.errors import RateLimited
from headrace.live.connections import CONNECTION_SECONDS, GRACE_SECONDS
from headrace.live.shares import CONNECTIONS_PER_ROOM, CONNECTIONS_PER_USER, Shares
from headrace.storage.redis import Cache, connect
from tests.contract.redis_node import RedisNode
from tests.fakes.live import MemoryConnections
from tests.worlds.senders import caller

ALICE, TRUSTED = caller("alice"), caller("bridge", "events:write")


@pytest.fixture
def shares(redis_node: RedisNode) -> Shares:
    redis_node.start()
    connect(redis_node.settings, 1.0).flushall()
    return Shares(Cache.of(redis_node.settings), MemoryConnections())


def test_an_index_is_read_only_for_what_may_be_over_a_limit(shares: Shares) -> None:
    table = shares._connections.table

    for number in range(CONNECTIONS_PER_ROOM):
        assert not shares.refused(ALICE, ["kitchen", "hall"], f"c-{number}")
    for number in range(CONNECTIONS_PER_USER):
        shares.open(f"c-{number}", ALICE)
    for number in range(CONNECTIONS_PER_ROOM + 1):
        assert not shares.refused(TRUSTED, ["kitchen"], f"t-{number}")
    assert (table.calls, shares.rooms_of("c-0"), shares.rooms_of("c-99")) == (
        CONNECTIONS_PER_USER,
        {"kitchen", "hall"},
        set(),
    )
    with pytest.raises(RateLimited):
        shares.open("one-more", ALICE)
    shares.refused(ALICE, ["kitchen"], "c-0")
    assert table.calls > CONNECTIONS_PER_USER + 2


def test_counts_last_longer_than_a_connection(shares: Shares, redis_node: RedisNode) -> None:
    shares.open("c-1", ALICE)
    shares.refused(ALICE, ["kitchen"], "c-1")
    redis = connect(redis_node.settings, 1.0)

    left = [redis.ttl(key) for key in redis.scan_iter()]

    assert len(left) == 3
    assert all(CONNECTION_SECONDS < seconds <= CONNECTION_SECONDS + GRACE_SECONDS for seconds in left)
