"""The write path with its real code on memory versions of what lies around it, and the hands that move records.

Any collaborator's call can be the last of its process: a :class:`Fuse` ends it before, in the middle of, or after it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from hypothesis import strategies as st

from headrace import keys
from headrace.accept import Acceptor
from headrace.broker.base import Outgoing
from headrace.broker.memory import MemoryPublisher
from headrace.errors import RetryLaneUnavailable
from headrace.persist import Persister
from headrace.retry_lane.base import Handover, to_text
from headrace.retry_lane.memory import MemoryRetryLane, Message
from headrace.store.memory import MemoryStore
from headrace.times import SECOND, FixedClock
from tests.model.poison import NOT_BASE64
from tests.unit.senders import NOW, TABLE

QUEUES = 2
DELIVERY_LIMIT = 2
"""Fewer than on AWS, so that runs of some fifty steps reach ``parked``."""
TIMEOUT = 60.0
PAUSES = (15, 60, 240, 900)
"""Of the retry lane, as the template documents them: their sum is the retry budget in seconds."""

When = Literal["before", "halfway", "after"]

queues = st.sampled_from([keys.persist_queue(number) for number in range(QUEUES)])
limits = st.integers(1, 6)
calls = st.integers(1, 4)
when = st.sampled_from(["before", "halfway", "after"])


class Crash(BaseException):
    """The process is gone: nothing in it can catch this."""


@dataclass
class Fuse:
    """Blows at the ``calls``-th call from now; 0: never."""

    calls: int = 0
    when: When = "before"

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Do ``function``, unless the process ends here."""
        if not self.calls:
            return function(*arguments)
        self.calls -= 1
        if self.calls == 0:
            if self.when == "after":
                function(*arguments)
            if self.when == "halfway":
                *rest, items = arguments
                function(*rest, items[: len(items) // 2])
            raise Crash
        return function(*arguments)


class Mortal:
    """``target``, called by a process that may end."""

    def __init__(self, target: object, fuse: Fuse) -> None:
        self._target = target
        self._fuse = fuse

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(self._target, name)
        return lambda *arguments: self._fuse.call(function, *arguments)


@dataclass(frozen=True)
class Delivery:
    """What a trigger gave to the function; ``answered`` unless the process ended or the batch was given back."""

    bodies: Sequence[bytes]
    answered: bool
    crashed: bool = False


class World:
    """Broker, retry lane, table and clock, and the functions between them."""

    def __init__(self) -> None:
        self.clock = FixedClock(NOW)
        self.broker = MemoryPublisher(keys.persist_queues(QUEUES), DELIVERY_LIMIT)
        self.lane = MemoryRetryLane(self.clock)
        self.store = MemoryStore()
        self.store.throttled = lambda row: row["messageId"] in self.throttled
        self.throttled: frozenset[str] = frozenset()
        self.fuse = Fuse()
        lane: Any = Mortal(self.lane, self.fuse)
        publisher: Any = Mortal(self.broker, self.fuse)
        store: Any = Mortal(self.store, self.fuse)
        self.acceptor = Acceptor(publisher, lane, QUEUES, self.clock)
        self.persister = Persister(store, lane, {"chat": TABLE}, self.clock, sleep=self.clock.advance)

    def rows(self) -> list[dict[str, Any]]:
        return self.store.rows(TABLE.table)

    def bodies(self) -> Iterator[bytes]:
        """Whatever lies in any lane."""
        for queue in (*self.broker.queues.values(), *self.broker.in_flight.values(), self.broker.parked):
            yield from (message.body for message in queue)
        yield from (record.body for record in self.lane.records)
        yield from (message.record.body for message in self.lane.dead.messages)

    def deliver(self, queue: str, limit: int, ack_lost: bool = False) -> Delivery:
        """What the RabbitMQ trigger does with the next batch of ``queue``."""
        batch = self.broker.deliver(queue, limit)
        bodies = [message.body for message in batch]
        try:
            self.persister.main_lane(rabbit_event(queue, bodies), self._remaining())
        except (RetryLaneUnavailable, Crash) as error:
            self.broker.give_back(queue)
            return Delivery(bodies, False, isinstance(error, Crash))
        (self.broker.give_back if ack_lost else self.broker.settle)(queue)
        return Delivery(bodies, True)

    def _remaining(self) -> Callable[[], float]:
        deadline = self.clock.now() + TIMEOUT * SECOND
        return lambda: (deadline - self.clock.now()) / SECOND

    def poll(self, limit: int, ack_lost: bool = False) -> Delivery:
        """What the SQS trigger does with the next batch of the retry lane."""
        batch = self.lane.receive(limit)
        bodies = [message.record.body for message in batch]
        if not batch:
            return Delivery(bodies, True)
        try:
            answer = self.persister.retry_lane(sqs_event(batch), self._remaining())
        except Crash:
            return Delivery(bodies, False, crashed=True)
        kept = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        assert kept <= {message.id for message in batch}
        if not ack_lost:
            self.lane.delete([message.receipt for message in batch if message.id not in kept])
        return Delivery(bodies, True)

    def redrive(self, limit: int) -> None:
        """Move dead records back to the retry lane; sent before deleted, so that it may stop anywhere."""
        for message in self.lane.dead.receive(limit, 30):
            (refused,) = self.fuse.call(self.lane.send, [message.record])
            if refused is None:
                self.fuse.call(self.lane.dead.delete, message.receipt)

    def discard(self, limit: int) -> list[bytes]:
        """Throw away dead records; their bodies."""
        thrown = self.lane.dead.receive(limit, 30)
        for message in thrown:
            self.lane.dead.delete(message.receipt)
        return [message.record.body for message in thrown]

    def unpark(self) -> None:
        """Bring one parked message back to a queue; published before acknowledged."""
        message = self.broker.parked[0]
        outgoing = Outgoing(message.routing_key, message.body, message.correlation_id)
        (failure,) = self.fuse.call(self.broker.publish, [outgoing])
        if failure is None:
            del self.broker.parked[0]

    def heal(self) -> None:
        """Everything works again."""
        self.broker.recover()
        self.lane.recover()
        self.store.down = False
        self.throttled = frozenset()

    @contextmanager
    def ending(self, calls: int, when: When) -> Iterator[None]:
        """The process ends at the ``calls``-th call, if it gets there."""
        self.fuse.calls, self.fuse.when = calls, when
        yield
        self.fuse.calls = 0

    def put(self, queue: str, body: bytes) -> None:
        """A foreign publisher's record into ``queue``, or into the retry lane if it names none."""
        if queue:
            self.broker.keep(Outgoing(queue, body, "foreign"))
        else:
            self.lane.queue.send(Handover(body))


def rabbit_event(queue: str, bodies: Sequence[bytes]) -> dict[str, Any]:
    """The trigger's event; what begins with ``NOT_BASE64`` is given as it is."""
    datas = [
        body.decode("latin-1") if body.startswith(NOT_BASE64) else base64.b64encode(body).decode() for body in bodies
    ]
    return {"eventSource": "aws:rmq", "rmqMessagesByQueue": {f"{queue}::/": [{"data": data} for data in datas]}}


def sqs_event(batch: Sequence[Message]) -> dict[str, Any]:
    """The trigger's event."""
    return {"Records": [sqs_record(message) for message in batch]}


def sqs_record(message: Message) -> dict[str, Any]:
    """One record of the event."""
    body, attributes = to_text(message.record)
    return {
        "messageId": message.id,
        "receiptHandle": message.receipt,
        "body": body,
        "attributes": {"ApproximateReceiveCount": str(message.received)},
        "messageAttributes": {name: {"stringValue": value, "dataType": "String"} for name, value in attributes.items()},
        "eventSource": "aws:sqs",
    }
