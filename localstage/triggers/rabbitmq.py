"""A RabbitMQ event source mapping, as Lambda runs it: one environment; after an error the whole batch is requeued."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pika

from localstage.core.errors import StageError
from localstage.core.invoker import Functions, Invocation
from localstage.core.model import RabbitMqMapping
from localstage.triggers.consumer import Consumer, Lost, Verb
from localstage.triggers.deliveries import Delivery
from localstage.triggers.inbox import Batch, Inbox
from localstage.triggers.pacing import Backoff, Status, Trigger, pause, wind_up
from localstage.triggers.rabbitmq_event import EVENT_LIMIT, build_record, event_size, event_start

DEFAULT_WINDOW = 0.5
STOP_SECONDS = 5.0
_AHEAD = 1000
"""How many records beyond one batch wait in memory while the function runs."""


class RabbitMqTrigger(Trigger):
    """Feeds one queue to one function, one invocation at a time, and acknowledges only what succeeded.

    ``broker_url`` is an amqp(s) URL without credentials. After an error the whole batch is requeued and the next
    delivery waits 0.1 s, doubling to 5 s until something succeeds. An unavailable broker or queue is retried
    without end, at most every 2 s, with one warning in 5 s. ``returns_by`` is the AMQP verb that requeues.
    """

    def __init__(
        self,
        mapping: RabbitMqMapping,
        functions: Functions,
        *,
        broker_url: str,
        username: str,
        password: str,
        broker_arn: str,
        returns_by: Verb = "reject",
    ) -> None:
        super().__init__(Status(mapping.id, "rabbitmq", mapping.queue, mapping.function_id))
        self._mapping = mapping
        self._returns_by = returns_by
        self._functions = functions
        self._parameters = _parameters(broker_url, mapping, username, password)
        self._start = event_start(mapping.queue, mapping.vhost, broker_arn)
        self._inbox: Inbox | None = None
        self._in_function = 0
        self._consumer: Consumer | None = None
        self._invocation: asyncio.Future[Invocation] | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to consume in the background; returns at once, also when the broker is unavailable."""
        if self._task is not None:
            return
        self._status.state = "starting"
        self._task = asyncio.create_task(self._run(), name=f"trigger {self._mapping.id}")

    async def stop(self, grace: float = STOP_SECONDS) -> None:
        """Begin no further batch, give a running one ``grace`` seconds, and requeue the rest."""
        self._stopping.set()
        if self._inbox is not None:
            self._inbox.end()
        if self._consumer is not None:
            self._consumer.give_up()
        if self._invocation is not None:
            await wind_up({self._invocation}, grace)
        if self._task is not None:
            # Not cancelled: closing the channel requeues the records.
            await self._task
        self._status.state = "stopped"

    def status(self) -> Status:
        """Return a snapshot."""
        waiting = 0 if self._inbox is None else len(self._inbox)
        return replace(self._status, held=waiting + self._in_function)

    async def _run(self) -> None:
        backoff = Backoff(0.1, 2.0)
        while not self._stopping.is_set():
            consumer = self._consumer = self._new_consumer()
            try:
                await consumer.open()
                backoff.reset()
                self._running()
                await self._serve(consumer)
            except Lost as lost:
                if not self._stopping.is_set():
                    self._trouble(str(lost))
            except Exception as error:  # noqa: BLE001 - it is in the log and in the status; the mapping goes on
                self._trouble(f"{type(error).__name__}: {error}")
            finally:
                await consumer.close()
            if not self._stopping.is_set():
                await pause(self._stopping, backoff.next())

    def _new_consumer(self) -> Consumer:
        mapping = self._mapping
        window = DEFAULT_WINDOW if mapping.window is None else float(mapping.window)
        inbox = self._inbox = Inbox(self._start, mapping.batch_size, window)

        def on_message(message: Delivery) -> None:
            # The base64 size suffices to drop a huge body; the exact size is known once the record is written.
            size = len(message.body)
            if size // 3 * 4 <= EVENT_LIMIT:
                record = build_record(message.properties, message.body, redelivered=message.redelivered)
                if event_size(self._start, 1, len(record)) <= EVENT_LIMIT:
                    inbox.add(message.tag, record)
                    return
            consumer.ack(message.tag, multiple=False)
            self._reporter.warn("dropped", f"{mapping.id}: dropped a record of {size} bytes; an event holds 6 MB")

        consumer = Consumer(  # named above, where a dropped record is acknowledged
            self._parameters,
            mapping.queue,
            prefetch=mapping.batch_size + min(mapping.batch_size, _AHEAD),
            on_message=on_message,
            on_lost=inbox.end,
        )
        return consumer

    async def _serve(self, consumer: Consumer) -> None:
        assert self._inbox is not None  # noqa: S101 - narrows the type
        backoff = Backoff(0.1, 5.0)
        while not self._stopping.is_set():
            batch = await self._inbox.next_batch()
            if batch is None:
                break
            self._in_function = len(batch.tags)
            is_done = await self._succeeds(batch)
            self._in_function = 0
            if is_done:
                consumer.ack(batch.tags[-1], multiple=True)
                backoff.reset()
                self._status.records += len(batch.tags)
                self._status.batches += 1
            else:
                # The whole batch, including good records: this source has no partial response.
                consumer.give_back(batch.tags, by=self._returns_by)
                await pause(self._stopping, backoff.next())
        if not self._stopping.is_set():
            raise Lost(consumer.lost or "the consumer ended")

    async def _succeeds(self, batch: Batch) -> bool:
        mapping = self._mapping
        try:
            call = self._functions.invoke(mapping.function_id, batch.event, dedicated_to=mapping.id)
            invocation = self._invocation = asyncio.ensure_future(call)
            try:
                await asyncio.wait({invocation})
            finally:
                invocation.cancel()
            if invocation.cancelled():
                return False
            error = invocation.result().error
        except StageError as stage_error:
            error = str(stage_error)
        if error is None:
            return True
        self._status.failures += 1
        self._reporter.warn(
            "failed", f"{mapping.id}: {mapping.function_id} failed ({error}); {len(batch.tags)} records requeued"
        )
        return False


def _parameters(broker_url: str, mapping: RabbitMqMapping, username: str, password: str) -> pika.connection.Parameters:
    parameters = pika.URLParameters(broker_url)
    parameters.virtual_host = mapping.vhost
    parameters.credentials = pika.PlainCredentials(username, password)
    parameters.connection_attempts = 1
    parameters.socket_timeout = 5
    parameters.stack_timeout = 10
    parameters.client_properties = {"connection_name": f"localstage {mapping.id}"}
    return parameters
