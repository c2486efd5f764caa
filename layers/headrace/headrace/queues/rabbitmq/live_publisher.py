"""Publishes live copies of stored messages: best effort, without confirms."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headrace.core.errors import (
    BrokerUnavailable,
    ConfigurationError,
    ConnectionLost,
    PublisherBlocked,
    SecretsUnavailable,
)
from headrace.queues.ports import Outgoing
from headrace.runtime.cooldown import Cooldown
from headrace.runtime.secrets import Credentials, Secrets, credentials
from headrace.runtime.settings import BrokerSettings

if TYPE_CHECKING:
    from headrace.queues.rabbitmq.live_channel import LiveChannel

CONNECT_SECONDS = 0.5
SEND_SECONDS = 0.1
COOLDOWN_SECONDS = 5.0
"""How long nothing is published after a failed publish."""


class RabbitLivePublisher:
    """A :class:`~headrace.queues.ports.LivePublisher` on RabbitMQ, not thread-safe. Imports pika on first use."""

    def __init__(
        self, settings: BrokerSettings, secrets: Secrets, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._secrets = secrets
        self._link: LiveChannel | None = None
        self._cooldown = Cooldown(COOLDOWN_SECONDS, monotonic)

    def publish(self, messages: Sequence[Outgoing]) -> BrokerUnavailable | None:
        if not messages:
            return None
        if self._cooldown.is_active:
            return ConnectionLost("the broker was unavailable a moment ago")
        try:
            self._ready().cast(messages, time.monotonic() + SEND_SECONDS)
        except PublisherBlocked as error:
            self._cooldown.start()
            return error
        except (BrokerUnavailable, SecretsUnavailable, ConfigurationError) as error:
            self._cooldown.start()
            self.close()
            return error if isinstance(error, BrokerUnavailable) else ConnectionLost(error.message)
        return None

    def _ready(self) -> LiveChannel:
        if self._link is not None and self._link.notice():
            return self._link
        self.close()
        self._link = self._open(credentials(self._secrets, self._settings.broker_secret_arn))
        return self._link

    def _open(self, known: Credentials) -> LiveChannel:
        from headrace.queues.rabbitmq.errors import PIKA_ERRORS, broker_error, is_authentication
        from headrace.queues.rabbitmq.live_channel import LiveChannel
        from headrace.queues.rabbitmq.publisher import endpoints

        share = CONNECT_SECONDS / len(self._settings.broker_endpoints)
        try:
            hosts = endpoints(self._settings, known, share, self._settings.broker_heartbeat_seconds)
            return LiveChannel.open(hosts, time.monotonic() + CONNECT_SECONDS)
        except PIKA_ERRORS as error:
            if is_authentication(error):
                # Read again for the next publish: this one is out of time.
                credentials(self._secrets, self._settings.broker_secret_arn, fresh=True)
            raise broker_error(error) from error

    def close(self) -> None:
        if self._link is not None:
            self._link.drop()
            self._link = None
