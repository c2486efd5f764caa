"""One suite for every cache: in memory, and on a real cluster node."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from redis.exceptions import MovedError

from headrace.core.errors import CacheUnavailable
from headrace.runtime.breaker import COOLDOWN_SECONDS
from headrace.storage.redis import Cache, connect
from tests.contract.rabbit import PATIENT
from tests.contract.redis_node import RedisNode
from tests.fakes.clock import FixedClock
from tests.fakes.storage import MemoryCache

START = "2025-11-21T10:00:00.000000Z"


class Subject:
    """A cache that a test can stop and start."""

    def __init__(self, cache: Cache, wait: Any) -> None:
        self.cache = cache
        self.wait = wait


@pytest.fixture(params=["memory", "redis"])
def subject(request: pytest.FixtureRequest) -> Subject:
    if request.param == "memory":
        clock = FixedClock(START)
        return Subject(MemoryCache(clock), clock.advance)
    node: RedisNode = request.getfixturevalue("redis_node")
    node.start()
    connect(node.settings, 1.0).flushall()
    return Subject(Cache.of(node.settings), time.sleep)


def test_set_values_are_read_under_any_keys_in_any_slots(subject: Subject) -> None:
    subject.cache.set_many({f"key-{number}": (bytes([number, 0, 255]), 60) for number in range(20)})

    found = subject.cache.get_many([f"key-{number}" for number in range(21)])

    assert found == [*(bytes([number, 0, 255]) for number in range(20)), None]


def test_a_value_expires_after_its_time_to_live(subject: Subject) -> None:
    subject.cache.set_many({"short": (b"1", 0.05)})
    subject.cache.set_many({"long": (b"1", 60)})

    subject.wait(0.1)

    assert subject.cache.get_many(["short", "long"]) == [None, b"1"]


def test_add_many_adds_only_missing_keys(subject: Subject) -> None:
    subject.cache.set_many({"b": (b"old", 60)})
    subject.cache.set_many({"c": (b"old", 0.05)})
    subject.wait(0.1)

    added = subject.cache.add_many({"a": (b"1", 60), "b": (b"2", 60), "c": (b"3", 0.05)})

    assert added == [True, False, True]
    assert subject.cache.get_many(["a", "b", "c"]) == [b"1", b"old", b"3"]
    subject.wait(0.1)
    assert subject.cache.get_many(["c"]) == [None]


def test_a_call_without_keys_returns_no_values(subject: Subject) -> None:
    assert subject.cache.get_many([]) == []
    subject.cache.set_many({})
    assert subject.cache.add_many({}) == []


def test_an_unavailable_cache_is_tried_every_five_seconds_and_counted(
    redis_node: RedisNode, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fault 17: a cache client with its default retries."""
    redis_node.start()
    now = [0.0]
    connections: list[object] = []

    def opened() -> Any:
        connections.append(None)
        return connect(redis_node.settings, PATIENT)

    cache = Cache(opened, monotonic=lambda: now[0])
    cache.set_many({"a": (b"1", 60)})
    redis_node.kill()
    for _ in range(5):
        with pytest.raises(CacheUnavailable):
            cache.get_many(["a"])
    redis_node.start()

    with pytest.raises(CacheUnavailable, match="unavailable"):
        cache.get_many(["a"])
    now[0] = COOLDOWN_SECONDS

    assert cache.get_many(["a"]) == [None]
    assert len(connections) == 1
    assert capsys.readouterr().out.replace(" ", "").count('"CacheUnavailable":[1.0]') == 1


def test_a_connection_that_the_cache_has_closed_is_replaced(redis_node: RedisNode) -> None:
    redis_node.start()
    cache = Cache.of(redis_node.settings)
    cache.set_many({"a": (b"1", 60)})

    connect(redis_node.settings, PATIENT).client_kill_filter(_type="normal", skipme=True)

    assert cache.get_many(["a"]) == [b"1"]


def test_after_a_refused_command_answers_belong_to_their_commands(redis_node: RedisNode) -> None:
    redis_node.start()
    now = [0.0]
    cache = Cache(lambda: connect(redis_node.settings, PATIENT), monotonic=lambda: now[0])
    with pytest.raises(CacheUnavailable):
        cache.run([("SET", "a", "1"), ("INCRBY", "a", "no number"), ("GET", "a")])
    now[0] = COOLDOWN_SECONDS

    assert cache.run([("SET", "b", "ключ"), ("GET", "b")])[1] == "ключ".encode()


class Pointing:
    """A client, and its pool with one connection, whose node answers with a redirect to another node."""

    @property
    def connection_pool(self) -> Pointing:
        return self

    def make_connection(self) -> Pointing:
        return self

    def connect(self) -> None:
        pass

    def can_read(self) -> bool:
        return False

    def send_packed_command(self, _command: Sequence[bytes]) -> None:
        pass

    def read_response(self) -> object:
        raise MovedError("1 127.0.0.1:1")

    def disconnect(self) -> None:
        pass


def test_a_cluster_client_takes_over_where_the_endpoint_points_to_other_nodes(redis_node: RedisNode) -> None:
    from headrace.storage.redis import connect_cluster

    redis_node.start()
    cache = Cache(Pointing, lambda: connect_cluster(redis_node.settings, PATIENT))  # type: ignore[arg-type]

    cache.set_many({"a": (b"1", 60)})
    cache.set_many({"b": (b"2", 60)})

    assert cache.get_many(["a", "b"]) == [b"1", b"2"]
