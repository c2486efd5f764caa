"""Publishes on one channel in confirm mode, over its own connection to RabbitMQ.

Between two invocations nothing runs, because Lambda freezes the environment. So the socket is read and written only in
:meth:`ConfirmChannel.publish` and :meth:`ConfirmChannel.notice`, which also process what arrived in the meantime.
"""

from __future__ import annotations

import functools
import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from pika import BasicProperties, DeliveryMode
from pika.connection import Parameters
from pika.frame import Method
from pika.spec import Basic

from headrace.core.errors import (
    BrokerUnavailable,
    ConnectionLost,
    PublisherBlocked,
    PublishNacked,
    PublishReturned,
    PublishUnconfirmed,
)
from headrace.queues.names import LIVE_EXCHANGE, PERSIST_EXCHANGE
from headrace.queues.ports import Outcome, Outgoing
from headrace.queues.rabbitmq.connection import BlockingSocketConnection
from headrace.queues.rabbitmq.endpoints import PIKA_ERRORS, broker_error, is_authentication

# pika logs every failed attempt at length; here each failure is an outcome that the caller reports.
logging.getLogger("pika").setLevel(logging.CRITICAL)


RECENT_SECONDS = 1.0
"""For how long a publish after another one does not look first at what arrived."""


class ConfirmChannel:
    """A connection with one channel. Create it by :meth:`open`, and :meth:`drop` it when it is not ``trusted``."""

    def __init__(self, endpoint: Parameters) -> None:
        self.endpoint = endpoint
        self._connection: Any = None
        self._channel: Any = None
        self._error: BaseException | None = None
        self._ready = False
        self._blocked = False
        self._tag = 0
        self._first_tag = 1
        self._outcomes: list[Outcome] = []
        self._unsettled: set[int] = set()
        self.last_wait = 0.0
        """Seconds for which the last publish waited for the broker."""
        self._used_at = -math.inf

    @classmethod
    def open(cls, endpoints: Sequence[Parameters], deadline: float) -> Self:
        """A channel to the first of ``endpoints`` that answers; they share the time until ``deadline`` (monotonic).

        Raises:
            pika's exceptions (``PIKA_ERRORS``): the first that refuses the credentials, so that they are read again, or
                the last endpoint's.
        """
        failure: BaseException = TimeoutError()
        for left, endpoint in zip(range(len(endpoints), 0, -1), endpoints, strict=True):
            now = time.monotonic()
            channel = cls(endpoint)
            try:
                channel._connect(now + (deadline - now) / left)
            except PIKA_ERRORS as error:
                failure = failure if is_authentication(failure) else error
                channel.drop()
            else:
                return channel
        raise failure

    def _connect(self, deadline: float) -> None:
        self._connection = BlockingSocketConnection(
            self.endpoint, deadline, self._on_open, self._on_closed, self._on_settled
        )
        self._turn_until(lambda: self._ready or self._error is not None, deadline)
        if not self._ready:
            raise self._error or TimeoutError()

    def _on_open(self, connection: Any) -> None:
        connection.add_on_connection_blocked_callback(self._on_blocked)
        connection.add_on_connection_unblocked_callback(self._on_unblocked)
        self._channel = connection.channel(on_open_callback=self._on_channel)

    def _on_channel(self, channel: Any) -> None:
        channel.add_on_close_callback(self._on_closed)
        channel.add_on_return_callback(self._on_returned)
        channel.confirm_delivery(lambda frame: self._on_settled(frame.method), callback=self._on_confirming)

    def _on_confirming(self, _frame: Any) -> None:
        self._ready = True

    def _on_closed(self, _closed: Any, reason: BaseException) -> None:
        self._error = self._error or reason

    def _on_blocked(self, *_: Any) -> None:
        self._blocked = True

    def _on_unblocked(self, *_: Any) -> None:
        self._blocked = False

    @property
    def is_blocked(self) -> bool:
        """Whether the broker accepts nothing from publishers now."""
        return self._blocked

    @property
    def is_recent(self) -> bool:
        """Whether all was well a moment ago. A publish then needs no :meth:`notice`: it reads what arrived, too."""
        return self._error is None and not self._blocked and time.monotonic() - self._used_at < RECENT_SECONDS

    def notice(self) -> bool:
        """Process what arrived since the last use; whether the channel can still be used."""
        try:
            self._connection.receive(time.monotonic())
            # A publish on a blocked channel sends nothing, and the broker closes connections without heartbeats.
            self._connection.send()
        except PIKA_ERRORS as error:
            self._error = error
        return self._error is None

    def publish(self, messages: Sequence[Outgoing], deadline: float) -> list[Outcome]:
        """Publish all of ``messages`` and wait for their confirms until ``deadline``; one outcome each, in order."""
        self.last_wait = 0.0
        if self._blocked:
            return [_blocked() for _ in messages]
        self._outcomes = [None] * len(messages)
        self._unsettled = set(range(len(messages)))
        self._first_tag = self._tag + 1
        try:
            for message in messages:
                if self._stopped or time.monotonic() >= deadline:
                    break
                self._send(message)
            self._turn_until(lambda: self._stopped or not self._unsettled, deadline)
            self._used_at = time.monotonic()
        except PIKA_ERRORS as error:
            self._error = self._error or error
        for index in self._unsettled:
            self._outcomes[index] = self._why_unsettled()
        return self._outcomes

    def cast(self, messages: Sequence[Outgoing], deadline: float) -> None:
        """Write live copies or signals, and wait until they are sent. The broker drops one whose queue does not exist.

        Raises:
            PublisherBlocked: the broker accepts nothing from publishers now; nothing was written.
            ConnectionLost: the connection was lost, or they were not sent before ``deadline`` (monotonic).
        """
        if self._blocked:
            raise _blocked()
        try:
            for message in messages:
                # Its confirm, if the channel has confirms, settles nothing: as a late one of an earlier publish.
                self._send(message, LIVE_EXCHANGE, mandatory=False, mode=DeliveryMode.Transient)
            self._turn_until(lambda: self._error is not None or not self._connection.unsent, deadline)
        except PIKA_ERRORS as error:
            raise broker_error(error) from error
        if self._error is not None or self._connection.unsent:
            raise ConnectionLost("the broker does not take live copies")

    @property
    def _stopped(self) -> bool:
        return self._error is not None or self._blocked

    def _send(
        self,
        message: Outgoing,
        exchange: str = PERSIST_EXCHANGE,
        *,
        mandatory: bool = True,
        mode: DeliveryMode = DeliveryMode.Persistent,
    ) -> None:
        self._tag += 1
        channel = self._channel.channel_number
        # pika's encoder would build all of it for each message, which takes longer than the rest of a publish.
        method = _publish_method(channel, exchange, message.routing_key, mandatory)
        properties = _first_properties(mode) + _short(message.correlation_id) + _short(str(self._tag))
        self._connection.write(channel, method, properties, message.body)

    def _on_returned(self, _channel: Any, _method: Any, properties: Any, _body: bytes) -> None:
        index = int(properties.message_id) - self._first_tag
        if index in self._unsettled:
            self._outcomes[index] = PublishReturned("the broker routed it to no queue")

    def _on_settled(self, method: Basic.Ack | Basic.Nack) -> None:
        # A late confirm of an earlier publish has an index below 0, and settles nothing here.
        last = method.delivery_tag - self._first_tag
        settled = {index for index in self._unsettled if index <= last} if method.multiple else {last} & self._unsettled
        self._unsettled -= settled
        if isinstance(method, Basic.Nack):
            for index in settled:
                self._outcomes[index] = PublishNacked("the broker refused it")

    def _why_unsettled(self) -> BrokerUnavailable:
        if self._error is not None:
            return broker_error(self._error)
        return _blocked() if self._blocked else PublishUnconfirmed("the broker did not answer in time")

    @property
    def trusted(self) -> bool:
        """Whether it may be used again: it is open, and all confirms arrived or the broker has blocked publishers."""
        return self._error is None and (self._blocked or not self._unsettled)

    def drop(self) -> None:
        """Close the connection at once."""
        if self._connection is not None:
            self._connection.let_go()

    def _turn_until(self, done: Callable[[], bool], deadline: float) -> None:
        self._connection.send()
        while not done() and (now := time.monotonic()) < deadline:
            self._connection.receive(deadline)
            self.last_wait += time.monotonic() - now
            self._connection.send()


@functools.lru_cache(maxsize=1024)
def _publish_method(channel: int, exchange: str, routing_key: str, mandatory: bool) -> bytes:
    return Method(channel, Basic.Publish(exchange=exchange, routing_key=routing_key, mandatory=mandatory)).marshal()


@functools.cache
def _first_properties(delivery_mode: DeliveryMode) -> bytes:
    """The properties of every message: all but the correlation id and the message id, which are the last two."""
    empty = BasicProperties("application/json", delivery_mode=delivery_mode.value, correlation_id="", message_id="")
    return b"".join(empty.encode())[:-2]


def _short(text: str) -> bytes:
    """A short string in AMQP's encoding."""
    encoded = text.encode()
    return b"%c%b" % (len(encoded), encoded)


def _blocked() -> PublisherBlocked:
    return PublisherBlocked("the broker takes no messages now")
