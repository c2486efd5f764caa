"""Breakers: open, one probe, closed; and which errors count as unavailable."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from headrace.core.errors import (
    BrokerUnavailable,
    ConnectionLost,
    PublisherBlocked,
    PublishNacked,
    PublishReturned,
    PublishUnconfirmed,
)
from headrace.queues.ports import Outcome, Outgoing
from headrace.queues.rabbitmq.publisher import GuardedPublisher
from headrace.runtime.breaker import Breaker, BreakerRule, State
from tests.fakes.queues import MemoryPublisher

SETTINGS = BreakerRule(failure_percent=50, window=10, probe_seconds=10)
MESSAGE = Outgoing("persist.chat.0", b"{}", "c-1")


class Time:
    """A monotonic clock that tests move."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        return self.seconds


class States:
    """Remembers the states that a breaker reports."""

    def __init__(self) -> None:
        self.states: list[tuple[str, State]] = []

    def __call__(self, breaker: str, state: State) -> None:
        self.states.append((breaker, state))


class Broker:
    """A publisher behind a breaker, and the memory broker behind that."""

    def __init__(self, settings: BreakerRule = SETTINGS) -> None:
        self.time = Time()
        self.seen = States()
        self.memory = MemoryPublisher(["persist.chat.0"])
        self.calls = 0
        self.confirm_seconds = 0.0
        self.guarded = GuardedPublisher(self, replace(settings, on_state=self.seen, monotonic=self.time.monotonic))

    def publish(self, messages: Any) -> list[Outcome]:
        self.calls += 1
        return self.memory.publish(messages)

    def close(self) -> None:
        self.memory.close()

    def send(self) -> Outcome:
        (outcome,) = self.guarded.publish([MESSAGE])
        return outcome

    def open(self) -> None:
        self.memory.down = True
        while self.guarded.breaker.state == "closed":
            self.send()


def test_an_open_breaker_answers_without_touching_the_publisher() -> None:
    """Fault 18: a breaker that sleeps in request threads."""
    broker = Broker()
    broker.open()
    calls = broker.calls

    outcomes = broker.guarded.publish([MESSAGE] * 3)

    assert [type(outcome) for outcome in outcomes] == [BrokerUnavailable] * 3
    assert broker.calls == calls


def test_an_unavailable_broker_is_tried_three_times() -> None:
    broker = Broker()

    broker.open()

    assert broker.calls == 3


def test_a_successful_probe_closes_the_breaker() -> None:
    broker = Broker()
    broker.open()
    broker.memory.down = False
    broker.time.seconds += 9.9
    assert isinstance(broker.send(), BrokerUnavailable)
    calls = broker.calls

    broker.time.seconds += 0.2

    assert broker.send() is None
    assert broker.send() is None
    assert broker.calls == calls + 2
    assert broker.guarded.breaker.state == "closed"


def test_a_probe_that_fails_opens_for_as_long_again() -> None:
    broker = Broker()
    broker.open()
    calls = broker.calls
    broker.time.seconds += 10

    for _ in range(5):
        broker.send()
    broker.time.seconds += 9.9
    broker.send()

    assert broker.calls == calls + 1
    assert broker.guarded.breaker.state == "open"


def test_a_half_open_breaker_admits_exactly_one_publish() -> None:
    time, probing, answer, calls = Time(), threading.Event(), threading.Event(), []
    breaker: Breaker[bool] = Breaker("b", replace(SETTINGS, monotonic=time.monotonic), lambda ok: not ok)
    while breaker.state == "closed":
        breaker.call(lambda: False)
    time.seconds += 10

    def slow() -> bool:
        calls.append(1)
        probing.set()
        return answer.wait(10)

    probe = threading.Thread(target=breaker.call, args=(slow,))
    probe.start()
    assert probing.wait(10)
    refused = [breaker.call(slow) for _ in range(20)]
    state = breaker.state
    answer.set()
    probe.join(10)

    assert refused == [None] * 20
    assert len(calls) == 1
    assert (state, breaker.state) == ("half_open", "closed")


def test_half_of_the_window_is_not_more_than_half() -> None:
    broker = Broker()
    for failing in [False, True] * 20:
        broker.memory.down = failing
        broker.send()
        assert broker.guarded.breaker.state == "closed"

    broker.memory.down = True
    broker.send()

    assert broker.guarded.breaker.state == "open"


@pytest.mark.parametrize("error", [ConnectionLost, PublishUnconfirmed, PublisherBlocked])
def test_an_unavailable_or_silent_broker_opens_the_breaker(error: type[BrokerUnavailable]) -> None:
    broker = Broker()
    broker.memory.fail_next(*[error("no")] * 10)

    for _ in range(10):
        broker.send()

    assert broker.guarded.breaker.state == "open"


@pytest.mark.parametrize("error", [PublishReturned, PublishNacked])
def test_a_returned_or_refused_message_does_not_open_the_breaker(error: type[BrokerUnavailable]) -> None:
    broker = Broker()
    broker.memory.fail_next(*[error("no")] * 30)

    assert {type(broker.send()) for _ in range(30)} == {error}

    assert broker.guarded.breaker.state == "closed"


def test_a_deleted_queue_does_not_affect_the_others() -> None:
    broker = Broker()

    for _ in range(30):
        gone, there = broker.guarded.publish([Outgoing("persist.chat.1", b"{}", "c"), MESSAGE])
        assert isinstance(gone, PublishReturned)
        assert there is None

    assert broker.guarded.breaker.state == "closed"


def test_a_partly_answered_publish_does_not_open_the_breaker() -> None:
    broker = Broker()
    for _ in range(30):
        broker.memory.fail_next(PublishUnconfirmed("one queue has no leader"))
        assert broker.guarded.publish([MESSAGE, MESSAGE])[1] is None

    assert broker.guarded.breaker.state == "closed"


def test_a_publish_without_messages_does_not_count() -> None:
    broker = Broker()
    broker.open()
    broker.time.seconds += 10

    assert broker.guarded.publish([]) == []

    assert broker.guarded.breaker.state == "open"


def test_an_exception_is_a_failure_and_passes_through() -> None:
    breaker: Breaker[bool] = Breaker("b", SETTINGS, lambda ok: not ok)

    def broken() -> bool:
        raise KeyError

    for _ in range(3):
        with pytest.raises(KeyError):
            breaker.call(broken)

    assert breaker.call(broken) is None


@pytest.mark.parametrize("percent", range(1, 100))
@pytest.mark.parametrize("window", [1, 2, 7, 100])
def test_a_breaker_opens_above_its_percentage_and_not_at_it(percent: int, window: int) -> None:
    settings = BreakerRule(failure_percent=percent, window=window)
    breaker: Breaker[bool] = Breaker("b", settings, lambda ok: not ok)
    failures = window * percent // 100

    for number in range(window):
        breaker.call(lambda ok=number < window - failures: ok)
    assert breaker.state == "closed"
    for _ in range(window):
        breaker.call(lambda: False)

    assert breaker.state == "open"


def test_a_breaker_reports_its_state_when_it_opens_after_each_probe_and_when_it_closes() -> None:
    broker = Broker()
    broker.send()
    assert broker.seen.states == []

    broker.memory.down = True
    for _ in range(8):
        broker.send()
    assert broker.seen.states == [("broker", "open")]
    broker.time.seconds += 10
    broker.send()
    broker.send()
    assert broker.seen.states == [("broker", "open")] * 2
    broker.memory.down = False
    broker.time.seconds += 10
    broker.send()
    broker.send()

    assert broker.seen.states == [*[("broker", "open")] * 2, ("broker", "closed")]
