"""Publishes live copies of stored messages: best effort, without confirms."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from pika import BasicProperties, DeliveryMode

from headrace.core.errors import (
    BrokerUnavailable,
    ConfigurationError,
    ConnectionLost,
    PublisherBlocked,
    SecretsUnavailable,
)
from headrace.queues.names import LIVE_EXCHANGE
from headrace.queues.ports import Outgoing
from headrace.queues.rabbitmq.confirm_channel import ConfirmChannel
from headrace.queues.rabbitmq.errors import PIKA_ERRORS, broker_error
from headrace.queues.rabbitmq.publisher import ChannelKeeper
from headrace.runtime.cooldown import Cooldown
from headrace.runtime.secrets import Secrets
from headrace.runtime.settings import BrokerSettings

CONNECT_SECONDS = 0.5
SEND_SECONDS = 0.1
COOLDOWN_SECONDS = 5.0
"""How long nothing is published after a failed publish."""


class RabbitLivePublisher:
    """A :class:`~headrace.queues.ports.LivePublisher` on RabbitMQ. Not thread-safe."""

    def __init__(
        self, settings: BrokerSettings, secrets: Secrets, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._keeper = ChannelKeeper(LiveChannel, settings, secrets)
        self._cooldown = Cooldown(COOLDOWN_SECONDS, monotonic)

    def publish(self, messages: Sequence[Outgoing]) -> BrokerUnavailable | None:
        if not messages:
            return None
        if self._cooldown.is_active:
            return ConnectionLost("the broker was unavailable a moment ago")
        try:
            if self._keeper.channel is None:
                self._keeper.credentials()  # reading the secret takes none of the time to connect
            channel = self._keeper.ready(time.monotonic() + CONNECT_SECONDS)
            channel.cast(messages, time.monotonic() + SEND_SECONDS)
        except (BrokerUnavailable, SecretsUnavailable, ConfigurationError) as error:
            self._cooldown.start()
            if not isinstance(error, PublisherBlocked):
                self.close()
            return error if isinstance(error, BrokerUnavailable) else ConnectionLost(error.message)
        return None

    def close(self) -> None:
        self._keeper.close()


class LiveChannel(ConfirmChannel):
    """A channel without confirms: the broker drops a message whose queue does not exist."""

    def _on_channel(self, channel: Any) -> None:
        channel.add_on_close_callback(self._on_closed)
        self._ready = True

    def cast(self, messages: Sequence[Outgoing], deadline: float) -> None:
        """Write ``messages``, and wait until they are sent.

        Raises:
            PublisherBlocked: the broker accepts nothing from publishers now; nothing was written.
            ConnectionLost: the connection was lost, or they were not sent before ``deadline`` (monotonic).
        """
        if self._blocked:
            raise PublisherBlocked("the broker takes no messages now")
        try:
            for message in messages:
                self._channel.basic_publish(LIVE_EXCHANGE, message.routing_key, message.body, _properties(message))
            self._turn_until(lambda: self._error is not None or not self._connection.unsent, deadline)
        except PIKA_ERRORS as error:
            raise broker_error(error) from error
        if self._error is not None or self._connection.unsent:
            raise ConnectionLost("the broker does not take live copies")


def _properties(message: Outgoing) -> BasicProperties:
    return BasicProperties(
        content_type="application/json",
        delivery_mode=DeliveryMode.Transient.value,
        correlation_id=message.correlation_id,
    )
