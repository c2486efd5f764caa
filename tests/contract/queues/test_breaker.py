"""The breakers around a real broker, and their status in a real cache."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from headrace.core.errors import BrokerUnavailable, ConnectionLost
from headrace.core.times import SystemClock
from headrace.health.breaker_status import BreakerStatus, read_breaker_status
from headrace.queues.rabbitmq.publisher import GuardedPublisher
from headrace.queues.rabbitmq.topology import declare
from headrace.runtime.breaker import BreakerRule
from headrace.runtime.settings import CacheSettings, EnvironmentSettings
from headrace.storage import redis
from headrace.storage.redis import Cache
from localstage.services.guardian import Guardian
from localstage.services.ports import Ports
from localstage.services.programs import REDIS, ensure_programs
from localstage.services.redis import Redis
from tests.contract.rabbit import GUEST, Rabbit, drain, kinds, outgoing, publisher_to, settings
from tests.fakes.secrets import MemorySecrets

BREAKER = BreakerRule(window=10, probe_seconds=0.5)


def test_a_killed_broker_opens_the_breaker_and_when_restarted_closes_it_and_has_what_it_confirmed() -> None:
    """P1: messages are persistent, in a durable queue."""
    broker = Rabbit()
    secrets = MemorySecrets({"arn": GUEST})
    unguarded = publisher_to(broker.url)
    publisher = GuardedPublisher(unguarded, BREAKER)
    try:
        broker.start()
        declare(settings(broker.url), secrets, seconds=20)
        assert [publisher.publish([outgoing(str(number))]) for number in range(100)] == [[None]] * 100
        broker.sync()

        broker.kill()
        outcomes = [publisher.publish([outgoing("late")])[0] for _ in range(7)]

        assert kinds(outcomes) == [ConnectionLost] * 6 + [BrokerUnavailable]
        assert publisher.breaker.state == "open"

        broker.start()
        deadline = time.monotonic() + 60
        while publisher.publish([outgoing("after")]) != [None]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert publisher.breaker.state == "closed"
        assert {str(number).encode() for number in range(100)} <= set(drain(broker.url))
    finally:
        unguarded.close()
        broker.remove()


@pytest.fixture
async def cache_settings(tmp_path: Path) -> AsyncIterator[CacheSettings]:
    """The settings of a cache that only this test uses."""
    guardian = Guardian(tmp_path / "lock")
    await guardian.start()
    programs = await ensure_programs([REDIS], os.environ)
    redis = Redis(
        guardian, Ports(tmp_path / "ports.json"), tmp_path / "redis", program=programs[REDIS], environ=os.environ
    )
    try:
        await redis.start()
        yield CacheSettings(cache_endpoint=redis.endpoint)
    finally:
        await redis.stop()
        await guardian.stop()


async def test_a_written_breaker_status_is_readable_and_expires(
    cache_settings: CacheSettings,
) -> None:
    board = BreakerStatus(
        EnvironmentSettings(aws_lambda_function_name="receive_frame"),
        lambda: Cache.of(cache_settings),
        SystemClock(),
    )

    board.seen("broker", "open")
    board.seen("table Messages", "closed")

    deadline = time.monotonic() + 20
    while len(records := read_breaker_status(lambda: Cache.of(cache_settings), SystemClock())) < 2:
        assert time.monotonic() < deadline
    assert [(record.breaker, record.state) for record in records] == [("broker", "open"), ("table Messages", "closed")]
    client = redis.connect(cache_settings, 1)
    assert 0 < client.ttl("breakers") <= 900
    client.close()
