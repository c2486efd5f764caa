"""The cache has the state of the breakers of every environment."""

from __future__ import annotations

import json
import threading

import pytest

from headrace.core.errors import CacheUnavailable
from headrace.core.times import SystemClock
from headrace.health import breaker_status
from headrace.health.breaker_status import (
    FRESH_SECONDS,
    KEPT_SECONDS,
    KEY,
    BreakerRecord,
    BreakerStatus,
    read_breaker_status,
)
from headrace.runtime.settings import CacheSettings, EnvironmentSettings
from headrace.storage.redis import Cache
from tests.fakes.clock import FixedClock
from tests.fakes.commands import MemoryCommands

NOW = "2025-11-21T10:00:58.722861Z"


ENVIRONMENT = EnvironmentSettings(
    aws_lambda_function_name="receive_frame", aws_lambda_log_stream_name="2025/11/21/[$LATEST]ab"
)


class StatusWorld:
    def __init__(self) -> None:
        self.clock = FixedClock(NOW)
        self.hash = MemoryCommands()
        self.status = BreakerStatus(ENVIRONMENT, lambda: self.hash, self.clock)

    def read(self) -> list[BreakerRecord]:
        return read_breaker_status(lambda: self.hash, self.clock)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> StatusWorld:
    for name in ("WAIT_SECONDS", "FIRST_WAIT_SECONDS"):
        monkeypatch.setattr(breaker_status, name, 30.0)  # each record is written before the next step
    return StatusWorld()


def test_the_status_has_the_breakers_of_each_environment(world: StatusWorld) -> None:
    world.status.seen("broker", "open")
    world.clock.advance(3)
    world.status.seen("table Messages", "closed")

    broker, table = world.read()
    assert broker == BreakerRecord("broker", "receive_frame", "2025/11/21/[$LATEST]ab", "open", NOW, NOW)
    assert (table.breaker, table.state, table.at) == ("table Messages", "closed", "2025-11-21T10:01:01.722861Z")


def test_a_breaker_that_stays_open_is_open_since_it_opened(world: StatusWorld) -> None:
    world.status.seen("broker", "open")
    world.clock.advance(10)
    world.status.seen("broker", "open")

    (record,) = world.read()
    assert record.since == NOW
    assert record.at > NOW


def test_an_unused_open_breaker_leaves_the_status_after_a_minute(world: StatusWorld) -> None:
    world.status.seen("broker", "open")
    world.clock.advance(FRESH_SECONDS)
    assert len(world.read()) == 1

    world.clock.advance(1)

    assert world.read() == []
    assert world.hash.run([("HGETALL", KEY)]) == [{}]


def test_a_closed_breaker_stays_in_the_status_for_a_while(world: StatusWorld) -> None:
    world.status.seen("broker", "closed")
    world.clock.advance(KEPT_SECONDS)
    assert len(world.read()) == 1

    world.clock.advance(1)

    assert world.read() == []


def test_an_unavailable_cache_fails_no_request_and_is_no_empty_status(world: StatusWorld) -> None:
    world.hash.down = True

    world.status.seen("broker", "open")

    with pytest.raises(CacheUnavailable):
        world.read()


def test_no_request_waits_for_a_silent_cache() -> None:
    answer = threading.Event()
    written = threading.Event()

    def silent() -> MemoryCommands:
        answer.wait(30)
        written.set()
        return MemoryCommands()

    world = BreakerStatus(ENVIRONMENT, silent, SystemClock())

    world.seen("broker", "open")

    assert not written.is_set()
    answer.set()
    assert written.wait(10)


def test_an_opened_breaker_is_counted_and_logged_once(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(10):
        world.status.seen("table Other", "open")

    metrics = [line for line in capsys.readouterr().out.splitlines() if "BreakerOpened" in line]
    assert [json.loads(line)["BreakerOpened"] for line in metrics] == [[1.0]]
    assert caplog.messages == ["the breaker of the table Other is open"]


def test_a_missing_cache_setting_fails_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CACHE_ENDPOINT", raising=False)
    world = BreakerStatus(ENVIRONMENT, lambda: Cache.of(CacheSettings.read()), SystemClock())

    world.seen("broker", "open")
