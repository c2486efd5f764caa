"""Publishes to RabbitMQ over one connection per environment, which is kept across invocations and freezes.

:meth:`RabbitPublisher.publish` keeps to the budget. The first attempt has the larger share of it. Messages that are
unsettled then (connection lost, or not confirmed) are sent once more over a new connection. Returned and nacked
messages are settled, and are not sent again. The first publish also reads the secret, outside the budget.

With several brokers, a publisher keeps to the first of its settings. After a failure it goes on to the next one, and
``AWAY_SECONDS`` later it tries its own again.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from pika.connection import Parameters

from headrace.core.errors import (
    BrokerUnavailable,
    ConfigurationError,
    ConnectionLost,
    PublisherBlocked,
    PublishUnconfirmed,
    SecretsUnavailable,
)
from headrace.queues.brokers import beginning_at
from headrace.queues.names import live_queues
from headrace.queues.ports import LivePublisher, Outcome, Outgoing, Publisher
from headrace.queues.rabbitmq.confirm_channel import ConfirmChannel
from headrace.queues.rabbitmq.endpoints import PIKA_ERRORS, broker_error, endpoints, with_credentials
from headrace.runtime.breaker import Breaker, BreakerRule, Cooldown
from headrace.runtime.secrets import Credentials, Secrets, credentials
from headrace.runtime.settings import BrokerSettings

C = TypeVar("C", bound=ConfirmChannel)

BUDGET_SECONDS = 1.0
"""Longest time that one request may take to publish and confirm its events."""
FIRST_TRY = 0.6
"""The share of the budget after which unconfirmed messages are sent again."""
AWAY_SECONDS = 60.0
"""How long a publisher stays with another broker after its own has failed."""


class ChannelKeeper(Generic[C]):
    """Keeps one channel of class ``kind`` across invocations, and opens another when it is lost.

    The first broker of ``settings`` is its own; it goes to the others in turn.
    """

    def __init__(self, kind: type[C], settings: BrokerSettings, secrets: Secrets) -> None:
        self._kind = kind
        self._settings = settings
        self._secrets = secrets
        self._first = 0
        """The broker to try first: 0 for its own."""
        self._back_at = math.inf
        """When its own broker is tried again."""
        self.channel: C | None = None

    @property
    def has_others(self) -> bool:
        """Whether there are other brokers to go on to."""
        return len(self._settings.broker_endpoints) > 1

    def ready(self, deadline: float, *, for_publish: bool = False) -> C:
        """The open channel, or a new one; credentials that the broker refuses are read again, once.

        With ``for_publish``, one that was used a moment ago is not looked at: a publish that fails is sent again.

        Raises:
            BrokerUnavailable: no endpoint accepts a connection before ``deadline`` (monotonic).
            SecretsUnavailable, ConfigurationError: there are no credentials.
        """
        if time.monotonic() >= self._back_at:
            self._first, self._back_at = 0, math.inf
            self.close()
        if self.channel is not None and ((for_publish and self.channel.is_recent) or self.channel.notice()):
            return self.channel
        self.close()
        try:
            connect = functools.partial(self._open, deadline=deadline)
            self.channel = with_credentials(self._settings, self._secrets, connect)
        except PIKA_ERRORS as error:
            raise broker_error(error) from error
        return self.channel

    def read_credentials(self) -> None:
        """Read the broker's credentials, unless a channel is open: the budget of a publish is the broker's."""
        if self.channel is None:
            credentials(self._secrets, self._settings.broker_secret_arn)

    def _open(self, known: Credentials, deadline: float) -> C:
        settings = beginning_at(self._settings, self._first)
        share = max(0.1, (deadline - time.monotonic()) / sum(map(len, settings.broker_endpoints)))
        hosts: Sequence[Parameters] = endpoints(settings, known, share, settings.broker_heartbeat_seconds)
        channel = self._kind.open(hosts, deadline)
        brokers = [number for number, nodes in enumerate(settings.broker_endpoints) for _ in nodes]
        self._stay_with(self._first + brokers[hosts.index(channel.endpoint)])
        return channel

    def go_on(self) -> None:
        """Close the channel after a failure; the next one is opened to another broker, if there is one."""
        self.close()
        self._stay_with(self._first + 1)

    def _stay_with(self, number: int) -> None:
        first = number % len(self._settings.broker_endpoints)
        if first != self._first:
            self._first, self._back_at = first, time.monotonic() + AWAY_SECONDS if first else math.inf

    def close(self) -> None:
        """Close the channel and its connection."""
        if self.channel is not None:
            self.channel.drop()
            self.channel = None


class RabbitPublisher:
    """A :class:`~headrace.queues.ports.Publisher` on RabbitMQ. Not thread-safe."""

    def __init__(self, settings: BrokerSettings, secrets: Secrets, budget: float = BUDGET_SECONDS) -> None:
        self.budget = budget
        """Seconds for a publish and its confirms."""
        self._keeper = ChannelKeeper(ConfirmChannel, settings, secrets)
        self.confirm_seconds = 0.0

    def live_publisher(self) -> RabbitLivePublisher:
        """A publisher to the other exchange, over the same connection: the broker has a limit of connections."""
        return RabbitLivePublisher(self._keeper)

    def publish(self, messages: Sequence[Outgoing]) -> list[Outcome]:
        outcomes: list[Outcome] = [_NOT_SENT] * len(messages)
        pending = list(range(len(messages)))
        try:
            self._keeper.read_credentials()
            start = time.monotonic()
            for share in (FIRST_TRY, 1.0):
                channel = self._keeper.ready(start + self.budget, for_publish=True)
                tried = channel.publish([messages[index] for index in pending], start + share * self.budget)
                self.confirm_seconds += channel.last_wait
                for index, outcome in zip(pending, tried, strict=True):
                    outcomes[index] = outcome
                if channel.trusted and not (channel.is_blocked and self._keeper.has_others):
                    break
                self._keeper.go_on()
                pending = [index for index in pending if isinstance(outcomes[index], _UNAVAILABLE)]
                if not pending:
                    break
        except (BrokerUnavailable, SecretsUnavailable, ConfigurationError) as error:
            reason = error if isinstance(error, BrokerUnavailable) else ConnectionLost(error.message)
            # Outcomes of the first attempt are kept: an unconfirmed message may be in its queue, an unsent one is not.
            outcomes = [reason if outcome is _NOT_SENT else outcome for outcome in outcomes]
        except BaseException:
            # pika may be in any state: if this connection were kept, every later publish could fail.
            self.close()
            raise
        return outcomes

    def close(self) -> None:
        self._keeper.close()


_NOT_SENT = ConnectionLost("the broker is unavailable")
_UNAVAILABLE = (ConnectionLost, PublishUnconfirmed, PublisherBlocked)


class GuardedPublisher:
    """A publisher with a circuit breaker: while the broker is unavailable, a publish is refused in microseconds.

    A publish counts as failed when the broker answered for none of its messages: the connection was lost or refused, no
    confirm came in time, or publishers are blocked. A returned or nacked message is an answer: when a queue is deleted
    or full, only its own events go to the retry lane. The half-open breaker lets one request's publish through.
    """

    def __init__(self, publisher: Publisher, rule: BreakerRule) -> None:
        self._publisher = publisher
        self.breaker: Breaker[list[Outcome]] = Breaker("broker", rule, _is_unavailable)

    def publish(self, messages: Sequence[Outgoing]) -> list[Outcome]:
        if not messages:
            return []
        outcomes = self.breaker.call(lambda: self._publisher.publish(messages))
        return outcomes or [BrokerUnavailable("the broker was unavailable a moment ago")] * len(messages)

    @property
    def confirm_seconds(self) -> float:
        return self._publisher.confirm_seconds


def _is_unavailable(outcomes: Sequence[Outcome]) -> bool:
    return None not in outcomes and all(isinstance(outcome, _UNAVAILABLE) for outcome in outcomes)


CONNECT_SECONDS = 0.5
SEND_SECONDS = 0.1


class RabbitLivePublisher:
    """A :class:`~headrace.queues.ports.LivePublisher` on RabbitMQ. Not thread-safe."""

    def __init__(self, keeper: ChannelKeeper[Any], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._keeper = keeper
        self._cooldown = Cooldown(monotonic)
        self._has_failed = False

    def publish(self, messages: Sequence[Outgoing]) -> BrokerUnavailable | None:
        if not messages:
            return None
        if self._cooldown.is_active:
            return ConnectionLost("the broker was unavailable a moment ago")
        try:
            self._keeper.read_credentials()
            channel = self._keeper.ready(time.monotonic() + CONNECT_SECONDS)
            channel.cast(messages, time.monotonic() + SEND_SECONDS)
        except (BrokerUnavailable, SecretsUnavailable, ConfigurationError) as error:
            # After one failure, the next publish goes to another broker at once.
            if self._has_failed or not self._keeper.has_others:
                self._cooldown.start()
            self._has_failed = True
            if self._keeper.has_others or not isinstance(error, PublisherBlocked):
                self._keeper.go_on()
            return error if isinstance(error, BrokerUnavailable) else ConnectionLost(error.message)
        self._has_failed = False
        return None

    def close(self) -> None:
        self._keeper.close()


class SpreadLivePublisher:
    """Publishes each live queue's messages through one of ``publishers``, so that the order of a room is preserved."""

    def __init__(self, publishers: Sequence[LivePublisher]) -> None:
        self._publishers = publishers

    def publish(self, messages: Sequence[Outgoing]) -> BrokerUnavailable | None:
        failure = None
        for number, queue in enumerate(live_queues()):
            publisher = self._publishers[number % len(self._publishers)]
            failure = publisher.publish([each for each in messages if each.routing_key == queue]) or failure
        return failure


class LiveChannel(ConfirmChannel):
    """A channel without confirms."""

    def _on_channel(self, channel: Any) -> None:
        channel.add_on_close_callback(self._on_closed)
        self._ready = True
