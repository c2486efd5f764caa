"""The real write path on in-memory services, with the triggers and operators that move records."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from headrace.core.errors import RetryLaneUnavailable
from headrace.core.items import Item
from headrace.core.times import SECOND
from headrace.delivery.acceptor import Acceptor
from headrace.delivery.persister import Persister
from headrace.delivery.row_writer import RowWriter
from headrace.features.analytics import late_events
from headrace.features.operations.dead_letter import Filter
from headrace.features.operations.dead_letters import DeadLetters
from headrace.queues import names
from headrace.queues.ports import Outgoing, RetryRecord
from headrace.queues.rabbitmq.publisher import GuardedPublisher
from headrace.queues.sqs import to_text
from headrace.runtime.breaker import BreakerRule
from headrace.runtime.observability import Meter
from headrace.storage.ports import GuardedStore
from headrace.streams.chat.stream import MESSAGE
from tests.fakes.clock import FixedClock
from tests.fakes.queues import MemoryDeadLane, MemoryPublisher, MemoryRetryLane, Message, QueuedMessage
from tests.model.ledger import EventKey, key_of
from tests.model.marks import ChangingStore, MarkedCache
from tests.model.poison import NOT_BASE64
from tests.model.process import Crash, Fuse, Mortal, When
from tests.worlds.senders import CHAT, NOW, TABLE

QUEUES = {"chat": 2}
DELIVERY_LIMIT = 2
"""Fewer than on AWS, so that runs of about fifty steps park messages."""
TIMEOUT = 60
PAUSES = (15, 60, 240, 900)
"""The retry lane's pauses, as the template documents them: their sum is the retry budget in seconds."""
RETRY_BATCH_SIZE = 1
"""The batch size of the retry mapping, as in the template."""
RATE = 1000
BREAKERS = BreakerRule()


@dataclass(frozen=True)
class Delivery:
    """A batch of the function; ``again``: redelivered records. ``crashed``: the process ended before it answered."""

    bodies: Sequence[bytes]
    again: Sequence[bytes] = ()
    crashed: bool = False


class World:
    """Broker, retry lane, table, cache and clock, and the functions between them.

    ``throttled`` ids are not taken by the table. Each of ``crash_events`` ends the process that tries to store it.
    """

    def __init__(self) -> None:
        self.clock = FixedClock(NOW)
        self.broker = MemoryPublisher(names.persist_queues(QUEUES), DELIVERY_LIMIT)
        self.lane = MemoryRetryLane(self.clock)
        self.cache = MarkedCache(self.clock)
        self.store = ChangingStore(self.cache.require_marks)
        self.store.throttled = self._throttles
        self.throttled: frozenset[str] = frozenset()
        self.crash_events: set[EventKey] = set()
        self.fuse = Fuse()
        self.start()

    def start(self) -> None:
        """Start new processes, with nothing in memory."""
        lane = self.mortal(self.lane)
        rule = replace(BREAKERS, monotonic=self.monotonic)
        publisher = GuardedPublisher(self.mortal(self.broker), rule)
        self.writer = GuardedStore(self.mortal(self.store), rule)
        self.acceptor = Acceptor(publisher, lane, QUEUES, self.clock)
        late = partial(late_events.mark, CHAT, self.mortal(self.cache), self.clock)
        self.persister = Persister(
            RowWriter(self.writer, {"chat": TABLE}, ((MESSAGE, late),)),
            lane,
            self.clock,
            sleep=self.clock.advance,
        )
        dead = self.mortal(MemoryDeadLane(self.lane.dead))
        self.letters = DeadLetters(dead, lane, {"chat": TABLE}, self.clock, {}, self.monotonic, self.clock.advance)

    def mortal(self, target: object) -> Any:
        """``target``, wrapped so that each of its calls may end the process."""
        return Mortal(target, self.fuse)

    def monotonic(self) -> float:
        """Seconds, for breakers and rates."""
        return self.clock.now() / SECOND

    def _throttles(self, row: Item) -> bool:
        if key_of(row) in self.crash_events:
            raise Crash
        return row["messageId"] in self.throttled

    @property
    def table_is_unavailable(self) -> bool:
        """Whether the table is unavailable for the function: its breaker may still be open."""
        return self.store.down or self.writer.breaker(TABLE.table).state != "closed"

    def rows(self) -> list[Item]:
        return self.store.rows(TABLE.table)

    def waiting(self) -> Iterator[bytes]:
        """All records that will still be delivered."""
        for queue in (*self.broker.queues.values(), *self.broker.in_flight.values(), self.broker.parked):
            yield from (message.body for message in queue)
        yield from (record.body for record in self.lane.records)

    def bodies(self) -> Iterator[bytes]:
        """Every body in any lane."""
        yield from self.waiting()
        yield from (message.record.body for message in self.lane.dead.messages)

    def _remaining(self) -> Callable[[], float]:
        deadline = self.clock.now() + TIMEOUT * SECOND
        return lambda: (deadline - self.clock.now()) / SECOND

    def deliver(self, queue: str, limit: int, ack_lost: bool = False) -> Delivery:
        """What the RabbitMQ trigger does with the next batch of ``queue``."""
        batch = self.broker.deliver(queue, limit)
        bodies = [message.body for message in batch if not message.returns]
        again = [message.body for message in batch if message.returns]
        try:
            self.persister.main_lane(rabbit_event(queue, batch), self._remaining())
        except Crash:
            self.broker.give_back(queue)
            self.start()
            return Delivery(bodies, again, crashed=True)
        except RetryLaneUnavailable:
            ack_lost = True
        except Exception as error:
            raise AssertionError("the function raised for what lies in a lane") from error
        (self.broker.give_back if ack_lost else self.broker.settle)(queue)
        return Delivery(bodies, again)

    def poll(self, limit: int, ack_lost: bool = False) -> Delivery:
        """What the SQS trigger does with the next batch of the retry lane.

        Batches of several are tested too, unless a crash record waits: the batch size of 1 isolates those.
        """
        batch = self.lane.receive(RETRY_BATCH_SIZE if self.crash_events else limit)
        bodies = [message.record.body for message in batch]
        if not batch:
            return Delivery(bodies)
        try:
            answer = self.persister.retry_lane(sqs_event(batch), self._remaining())
        except Crash:
            self.start()
            return Delivery(bodies, crashed=True)
        kept = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        assert kept <= {message.id for message in batch}
        if not ack_lost:
            self.lane.delete([message.receipt for message in batch if message.id not in kept])
        return Delivery(bodies)

    def redrive(self, reason: str | None = None) -> None:
        """A complete redrive by the operators' code, unless the process ends during it."""
        self.clock.advance(1)
        progress = self.letters.start(Filter(reason=reason), RATE)
        while not progress.done:
            before, progress = progress, self.letters.redrive(progress, Meter())
            if progress.moved == before.moved:
                return

    def discard(self, reason: str | None) -> list[bytes]:
        """Discard dead letters as an operator does: list, count, confirm the count. Returns the discarded bodies."""
        before = list(self.lane.dead.messages)
        wanted = Filter(reason=reason)
        self.letters.discard(wanted, RATE, len(self.letters.find(wanted).letters), Meter())
        left = {message.id for message in self.lane.dead.messages}
        return [message.record.body for message in before if message.id not in left]

    def unpark(self) -> None:
        """Return one parked message to its queue; it is published before it is acknowledged."""
        message = self.broker.parked[0]
        outgoing = Outgoing(message.routing_key, message.body, message.correlation_id)
        (failure,) = self.fuse.call(self.broker.publish, [outgoing])
        if failure is None:
            del self.broker.parked[0]

    @contextmanager
    def ending(self, calls: int, when: When) -> Iterator[None]:
        """End the process at its ``calls``-th call."""
        self.fuse.calls, self.fuse.when = calls, when
        try:
            yield
        except Crash:
            self.start()
        finally:
            self.fuse.calls = 0

    def put(self, queue: str, body: bytes) -> None:
        """Put a foreign publisher's record into ``queue``, or into the retry lane if ``queue`` is empty."""
        if queue:
            self.broker.keep(Outgoing(queue, body, "foreign"))
        else:
            self.lane.queue.send(RetryRecord(body))

    def heal(self) -> None:
        """End all failures."""
        self.broker.recover()
        self.lane.recover()
        self.store.down = self.cache.down = False
        self.throttled, self.crash_events = frozenset(), set()


def rabbit_event(queue: str, batch: Sequence[QueuedMessage]) -> dict[str, Any]:
    """The event of the RabbitMQ trigger; a body that begins with ``NOT_BASE64`` is passed unchanged."""
    records = [{"data": _data(message.body), "redelivered": message.returns > 0} for message in batch]
    return {"eventSource": "aws:rmq", "rmqMessagesByQueue": {f"{queue}::/": records}}


def _data(body: bytes) -> str:
    return body.decode("latin-1") if body.startswith(NOT_BASE64) else base64.b64encode(body).decode()


def sqs_event(batch: Sequence[Message]) -> dict[str, Any]:
    """The event of the SQS trigger."""
    return {"Records": [sqs_record(message) for message in batch]}


def sqs_record(message: Message) -> dict[str, Any]:
    """One record of the SQS trigger's event."""
    body, attributes = to_text(message.record)
    return {
        "messageId": message.id,
        "receiptHandle": message.receipt,
        "body": body,
        "attributes": {"ApproximateReceiveCount": str(message.received)},
        "messageAttributes": {name: {"stringValue": value, "dataType": "String"} for name, value in attributes.items()},
        "eventSource": "aws:sqs",
    }
