"""A channel for live copies, without confirms. Imports pika, which live_publisher imports only when it publishes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pika import BasicProperties, DeliveryMode

from headrace.core.errors import ConnectionLost, PublisherBlocked
from headrace.queues.names import LIVE_EXCHANGE
from headrace.queues.ports import Outgoing
from headrace.queues.rabbitmq.confirm_channel import ConfirmChannel
from headrace.queues.rabbitmq.errors import PIKA_ERRORS, broker_error


class LiveChannel(ConfirmChannel):
    """A channel without confirms: the broker drops a message whose queue does not exist."""

    def _on_channel(self, channel: Any) -> None:
        channel.add_on_close_callback(self._on_closed)
        self._ready = True

    def cast(self, messages: Sequence[Outgoing], deadline: float) -> None:
        """Write ``messages``, and wait until they are sent.

        Raises:
            PublisherBlocked: the broker accepts nothing from publishers now; nothing was written.
            ConnectionLost: the connection broke, or they were not sent before ``deadline`` (monotonic).
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
