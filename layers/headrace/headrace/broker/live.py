"""Publishing live copies: best effort, without confirms, in bounded time. A late or lost copy is in the history.

The publisher goes over one connection per environment, as the one for events does, but waits only until what it wrote
has left the process. One failure marks the broker away for 5 s; until then a publish costs nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from headrace.broker.base import Outgoing
from headrace.core.errors import (
    BrokerUnavailable,
    ConfigurationError,
    ConnectionLost,
    PublisherBlocked,
    SecretsUnavailable,
)
from headrace.runtime.secrets import Credentials, Secrets, credentials
from headrace.runtime.settings import BrokerSettings

if TYPE_CHECKING:
    from headrace.broker.cast import CastLink

CONNECT_SECONDS = 0.5
SEND_SECONDS = 0.1
AWAY_SECONDS = 5.0


class LivePublisher(Protocol):
    """Publishes to the exchange ``headrace.live``."""

    def publish(self, messages: Sequence[Outgoing]) -> BrokerUnavailable | None:
        """``None`` when ``messages`` are on their way; that they arrive is not known. Never raises."""
        ...


class RabbitLivePublisher:
    """A :class:`LivePublisher` on RabbitMQ. Its library is imported with the first message. Not for several threads."""

    def __init__(
        self, settings: BrokerSettings, secrets: Secrets, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._secrets = secrets
        self._monotonic = monotonic
        self._link: CastLink | None = None
        self._away_until = float("-inf")

    def publish(self, messages: Sequence[Outgoing]) -> BrokerUnavailable | None:
        """Send ``messages`` on their way."""
        if not messages:
            return None
        if self._monotonic() < self._away_until:
            return ConnectionLost("the broker was away a moment ago")
        try:
            self._ready().cast(messages, time.monotonic() + SEND_SECONDS)
        except PublisherBlocked as error:
            self._rest()
            return error
        except (BrokerUnavailable, SecretsUnavailable, ConfigurationError) as error:
            self._rest()
            self.close()
            return error if isinstance(error, BrokerUnavailable) else ConnectionLost(error.message)
        return None

    def _rest(self) -> None:
        self._away_until = self._monotonic() + AWAY_SECONDS

    def _ready(self) -> CastLink:
        if self._link is not None and self._link.notice():
            return self._link
        self.close()
        known = credentials(self._secrets, self._settings.broker_secret_arn)
        self._link = self._open(known)
        return self._link

    def _open(self, known: Credentials) -> CastLink:
        from headrace.broker.cast import CastLink
        from headrace.broker.pika_errors import PIKA_ERRORS, broker_error, is_authentication
        from headrace.broker.rabbitmq import parameters

        share = CONNECT_SECONDS / len(self._settings.broker_endpoints)
        beat = self._settings.broker_heartbeat_seconds
        endpoints = [parameters(url, known, share, beat) for url in self._settings.broker_endpoints]
        try:
            return CastLink.open(endpoints, time.monotonic() + CONNECT_SECONDS)
        except PIKA_ERRORS as error:
            if is_authentication(error):
                # Read anew for the next try; this one has had its time.
                credentials(self._secrets, self._settings.broker_secret_arn, fresh=True)
            raise broker_error(error) from error

    def close(self) -> None:
        """Let the connection go; the next publish opens another."""
        if self._link is not None:
            self._link.drop()
            self._link = None


class MemoryLivePublisher:
    """A :class:`LivePublisher` in memory, for tests: ``sent`` are the messages. ``down``: nothing is taken."""

    def __init__(self) -> None:
        self.sent: list[Outgoing] = []
        self.down = False

    def publish(self, messages: Sequence[Outgoing]) -> BrokerUnavailable | None:
        """Keep ``messages``."""
        if self.down:
            return ConnectionLost("the broker is away")
        self.sent.extend(messages)
        return None
