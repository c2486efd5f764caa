"""One consumer of one RabbitMQ queue on asyncio, over its own connection (pika)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, Literal

import pika
from pika import exceptions
from pika.adapters.asyncio_connection import AsyncioConnection
from pika.channel import Channel
from pika.connection import Connection

from localstage.triggers.deliveries import Delivery, read

Verb = Literal["reject", "nack"]
"""How deliveries are returned to a queue in AMQP."""
OPEN_SECONDS = 15.0
CLOSE_SECONDS = 2.0

# pika logs every step of a refused connection at several levels; the trigger logs it once, in one line.
logging.getLogger("pika").setLevel(logging.CRITICAL)


class Lost(Exception):
    """The broker, the connection, the channel or the queue is unavailable; the message names it for the user."""


class _Connection(AsyncioConnection):
    """Gives deliveries to ``on_delivery``, and all other frames to pika."""

    def __init__(self, on_delivery: Callable[[Delivery], None], *given: Any, **named: Any) -> None:
        self._on_delivery = on_delivery
        self._unread = bytearray()
        super().__init__(*given, **named)

    def _on_data_available(self, data_in: bytes) -> None:
        # On an undecodable frame (such as a header with a time beyond the year 9999) pika raises into the event loop,
        # and then hangs, open but silent. Closing the connection makes the fault visible.
        try:
            self._unread += data_in
            self._read(self._unread)
        except Exception as error:  # noqa: BLE001 - the connection ends with it, and the trigger logs the reason
            self._terminate_stream(error)  # type: ignore[attr-defined]

    def _read(self, data: bytearray) -> None:
        at = 0
        while (found := read(data, at)) is not None:
            delivery, end = found
            if delivery is None:
                super()._on_data_available(bytes(data[at:end]))  # type: ignore[misc]
            else:
                self.bytes_received += end - at  # type: ignore[attr-defined]  # pika looks at it for heartbeats
                self._on_delivery(delivery)
            at = end
        del data[:at]


class Consumer:
    """Hands every delivery to ``on_message``; ``ack`` settles them.

    ``on_lost`` is called once when an open consumer can no longer receive.
    """

    def __init__(
        self,
        parameters: pika.connection.Parameters,
        queue: str,
        *,
        prefetch: int,
        on_message: Callable[[Delivery], None],
        on_lost: Callable[[], None],
    ) -> None:
        self._parameters = parameters
        self._queue = queue
        self._prefetch = prefetch
        self._on_message = on_message
        self._on_lost = on_lost
        loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = loop.create_future()
        self._closed: asyncio.Future[None] = loop.create_future()
        self._connection: _Connection | None = None
        self._channel: Channel | None = None
        self.lost: str | None = None

    async def open(self) -> None:
        """Connect and consume.

        Raises:
            Lost: the broker or the queue is unavailable.
        """
        self._connection = _Connection(
            self._on_delivery,
            self._parameters,
            on_open_callback=self._on_connection,
            on_open_error_callback=lambda _, error: self._on_closed(error),
            on_close_callback=lambda _, error: self._on_closed(error),
            custom_ioloop=asyncio.get_running_loop(),
        )
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                await self._opened
        except TimeoutError:
            self._lose(f"the broker {self._address} does not answer")
        if self.lost is not None:
            raise Lost(self.lost)

    def ack(self, tag: int, *, multiple: bool) -> None:
        """Acknowledge one delivery, or all up to it.

        Raises:
            Lost: too late; the broker delivers it again.
        """
        self._live_channel().basic_ack(tag, multiple=multiple)

    def give_back(self, tags: Sequence[int], *, by: Verb) -> None:
        """Return deliveries to the queue; with ``nack``, all unsettled ones up to the last.

        Which verb Lambda's own mapping uses is not documented (nack, reject or closing the channel). It matters for
        the delivery limit of a quorum queue: RabbitMQ 4.3 does not count what comes back by nack.

        Raises:
            Lost: too late; the broker delivers them again.
        """
        channel = self._live_channel()
        if by == "nack":
            channel.basic_nack(tags[-1], multiple=True, requeue=True)
            return
        for tag in tags:
            channel.basic_reject(tag, requeue=True)

    def give_up(self) -> None:
        """End an ``open`` that is still waiting for the broker."""
        if not self._opened.done():
            self._lose("given up")

    async def close(self) -> None:
        """Close channel and connection, so that unsettled deliveries return to the queue."""
        connection = self._connection
        if connection is None:
            return
        self._lose("closed")
        if connection.is_open:
            connection.close()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.shield(self._closed)
        except TimeoutError:
            if connection.is_closing:
                # A broker that does not answer the close frees the deliveries when the socket is closed.
                connection._terminate_stream(exceptions.StreamLostError("no answer"))  # type: ignore[attr-defined]

    @property
    def _address(self) -> str:
        return f"{self._parameters.host}:{self._parameters.port}"

    def _live_channel(self) -> Channel:
        if self.lost is not None or self._channel is None:
            raise Lost(self.lost or "not open")
        return self._channel

    def _lose(self, reason: str) -> None:
        if self.lost is not None:
            return
        self.lost = reason
        if not self._opened.done():
            self._opened.set_result(None)
        self._on_lost()

    def _on_connection(self, connection: Connection) -> None:
        if self.lost is not None:
            # Cancelled meanwhile: pika fails internally when a connection is aborted while it opens.
            connection.close()
            return
        connection.channel(on_open_callback=self._on_channel)

    def _on_channel(self, channel: Channel) -> None:
        self._channel = channel
        channel.add_on_close_callback(self._on_channel_closed)
        channel.add_on_cancel_callback(lambda _: self._lose(f"queue {self._queue} was deleted"))
        # Per consumer, not per channel: quorum queues support no global limit.
        channel.basic_qos(prefetch_count=self._prefetch, callback=lambda _: self._consume(channel))

    def _consume(self, channel: Channel) -> None:
        channel.basic_consume(self._queue, _never_called, callback=self._on_consuming)

    def _on_consuming(self, _: Any) -> None:
        if not self._opened.done():
            self._opened.set_result(None)

    def _on_delivery(self, delivery: Delivery) -> None:
        if self.lost is None:
            self._on_message(delivery)

    def _on_channel_closed(self, _: Channel, error: Exception) -> None:
        if isinstance(error, exceptions.ChannelClosedByBroker):
            missing = error.reply_code == 404
            self._lose(f"queue {self._queue} does not exist" if missing else f"the broker answers {error.reply_text}")
        else:
            self._lose(self._describe(error))

    def _on_closed(self, error: BaseException) -> None:
        self._lose(self._describe(error))
        if not self._closed.done():
            self._closed.set_result(None)

    def _describe(self, error: BaseException) -> str:
        if isinstance(error, exceptions.ConnectionClosedByBroker):
            return f"the broker {self._address} says {error.reply_text}"
        if isinstance(error, exceptions.ProbableAuthenticationError | exceptions.ProbableAccessDeniedError):
            return f"the broker {self._address} refused the user or the virtual host"
        if isinstance(error, exceptions.AMQPError):
            return f"the broker {self._address} is not reachable"
        return f"a delivery could not be read ({type(error).__name__}: {error})"


def _never_called(*_: object) -> None:
    """pika's callback for deliveries, which it does not see."""
