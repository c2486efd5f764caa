"""Breakers: which errors count as unavailable, and what they report. Their states are those of the model."""

from __future__ import annotations

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
from headrace.runtime.breaker import BreakerRule, State
from tests.fakes.clock import Seconds
from tests.fakes.queues import MemoryPublisher

SETTINGS = BreakerRule(failure_percent=50, window=10, probe_seconds=10)
MESSAGE = Outgoing("persist.chat.0", b"{}", "c-1")


class States:
    """Remembers the states that a breaker reports."""

    def __init__(self) -> None:
        self.states: list[tuple[str, State]] = []

    def __call__(self, breaker: str, state: State) -> None:
        self.states.append((breaker, state))


class Broker:
    """A publisher behind a breaker, and the memory broker behind that."""

    def __init__(self, settings: BreakerRule = SETTINGS) -> None:
        self.time = Seconds()
        self.seen = States()
        self.memory = MemoryPublisher(["persist.chat.0"])
        self.calls = 0
        self.confirm_seconds = 0.0
        self.guarded = GuardedPublisher(self, replace(settings, on_state=self.seen, monotonic=self.time))

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


def test_a_partly_answered_publish_does_not_open_the_breaker() -> None:
    broker = Broker()
    for _ in range(30):
        broker.memory.fail_next(PublishUnconfirmed("one queue has no leader"))
        assert broker.guarded.publish([MESSAGE, MESSAGE])[1] is None

    assert broker.guarded.breaker.state == "closed"


def test_a_publish_without_messages_does_not_count() -> None:
    broker = Broker()
    broker.open()
    broker.time.now += 10

    assert broker.guarded.publish([]) == []

    assert broker.guarded.breaker.state == "open"


def test_a_breaker_reports_its_state_when_it_opens_after_each_probe_and_when_it_closes() -> None:
    broker = Broker()
    broker.send()
    assert broker.seen.states == []

    broker.memory.down = True
    for _ in range(8):
        broker.send()
    assert broker.seen.states == [("broker", "open")]
    broker.time.now += 10
    broker.send()
    broker.send()
    assert broker.seen.states == [("broker", "open")] * 2
    broker.memory.down = False
    broker.time.now += 10
    broker.send()
    broker.send()

    assert broker.seen.states == [*[("broker", "open")] * 2, ("broker", "closed")]
