"""Request statistics of many environments are summed in a real cache."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from headrace.api.statistics import KEY, RequestTimes
from headrace.storage.redis import Cache, connect
from tests.contract.redis_node import RedisNode


def test_sums_of_environments_restart_when_the_cache_is_emptied(redis_node: RedisNode) -> None:
    redis_node.start()
    client = connect(redis_node.settings, 1.0)
    client.flushall()
    environments = [RequestTimes(Cache.of(redis_node.settings)) for _ in range(4)]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda pair: pair[1].add("GET /resorts", 0.001 * (pair[0] + 1)), enumerate(environments)))
    for each in environments:
        assert each._background._running is not None
        each._background._running.result(5)

    found = environments[0].read()
    assert found["endpointStats"] == [{"URL": "/resorts", "operation": "GET", "mean": 2.5, "max": 4.0}]
    assert found["since"].endswith("Z")
    assert client.ttl(KEY) > 0

    client.flushall()
    assert environments[0].read() == {"endpointStats": [], "since": None}
