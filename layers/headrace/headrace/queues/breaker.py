"""Puts a circuit breaker around a publisher: while the broker is unavailable, a publish is refused in microseconds.

A publish counts as failed when the broker answered for none of its messages: the connection was lost or refused, no
confirm came in time, or publishers are blocked. A returned or nacked message is an answer: when a queue is deleted or
full, only its own events go to the retry lane. The half-open breaker lets one request's publish through.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from headrace.core.errors import BrokerUnavailable, ConnectionLost, PublisherBlocked, PublishUnconfirmed
from headrace.queues.ports import Outcome, Outgoing, Publisher
from headrace.runtime.breaker import Breaker, BreakerRule, OnState

NAME = "broker"
UNAVAILABLE = (ConnectionLost, PublisherBlocked, PublishUnconfirmed)


class GuardedPublisher:
    """A :class:`~headrace.queues.ports.Publisher` that fails at once while its breaker is open."""

    def __init__(
        self,
        publisher: Publisher,
        rule: BreakerRule,
        on_state: OnState | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._publisher = publisher
        self.breaker: Breaker[list[Outcome]] = Breaker(NAME, rule, is_unavailable, on_state, monotonic)

    def publish(self, messages: Sequence[Outgoing]) -> list[Outcome]:
        if not messages:
            return []
        outcomes = self.breaker.call(lambda: self._publisher.publish(messages))
        return outcomes or [BrokerUnavailable("the broker was unavailable a moment ago")] * len(messages)

    @property
    def confirm_seconds(self) -> float:
        return self._publisher.confirm_seconds


def is_unavailable(outcomes: Sequence[Outcome]) -> bool:
    """Whether the broker answered for none of the messages."""
    return all(isinstance(outcome, UNAVAILABLE) for outcome in outcomes)
