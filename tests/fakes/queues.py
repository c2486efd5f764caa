"""Queues in memory, for tests. Their methods are documented in :mod:`headrace.queues.ports`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from headrace.core.errors import (
    BrokerUnavailable,
    ConnectionLost,
    DeadLaneUnavailable,
    PublishReturned,
    PublishUnconfirmed,
    RetryLaneUnavailable,
)
from headrace.core.times import SECOND, Clock
from headrace.queues.dead_lane import RECEIVE_LIMIT, ReceivedLetter
from headrace.queues.ports import Outcome, Outgoing, RetryRecord
from headrace.queues.sqs import to_text
from tests.fakes.clock import FixedClock


@dataclass(frozen=True, slots=True)
class QueuedMessage(Outgoing):
    """A message in a queue, and how often it was redelivered."""

    returns: int = 0


class MemoryPublisher:
    """Queues as lists. ``down``: publishes fail. ``silent``: messages are stored, but never confirmed.

    ``deliver`` simulates the mapping, which has one batch of a queue in flight. Messages that are returned more often
    than ``delivery_limit`` are in ``parked``.
    """

    def __init__(self, queues: Iterable[str] = (), delivery_limit: int = 20) -> None:
        self.queues: dict[str, list[QueuedMessage]] = {queue: [] for queue in queues}
        self.in_flight: dict[str, list[QueuedMessage]] = {}
        self.parked: list[QueuedMessage] = []
        self.delivery_limit = delivery_limit
        self.down = False
        self.silent = False
        self.confirm_seconds = 0.0
        self._failures: list[tuple[BrokerUnavailable, bool]] = []

    def fail_next(self, *errors: BrokerUnavailable, kept: bool = False) -> None:
        """Return these outcomes for the next messages, one each. With ``kept`` the messages are stored nevertheless."""
        self._failures.extend((error, kept) for error in errors)

    def recover(self) -> None:
        """End the outage and cancel the planned failures."""
        self.down = self.silent = False
        self._failures.clear()

    def publish(self, messages: Sequence[Outgoing]) -> list[Outcome]:
        return [self._publish(message) for message in messages]

    def _publish(self, message: Outgoing) -> Outcome:
        outcome, kept = self._failures.pop(0) if self._failures else (None, True)
        if not kept:
            return outcome
        if self.down:
            return ConnectionLost("the broker is unavailable")
        if message.routing_key not in self.queues:
            return PublishReturned("the broker routed it to no queue")
        self.keep(message)
        return outcome or (PublishUnconfirmed("the broker did not answer in time") if self.silent else None)

    def keep(self, message: Outgoing) -> None:
        """Put ``message`` into its queue."""
        kept = QueuedMessage(message.routing_key, message.body, message.correlation_id)
        self.queues[message.routing_key].append(kept)

    def take(self) -> list[bytes]:
        """The bodies in all queues, which are empty afterwards."""
        bodies = self.bodies()
        for queue in self.queues.values():
            queue.clear()
        return bodies

    def deliver(self, queue: str, limit: int) -> list[QueuedMessage]:
        """The next messages of ``queue``, in flight until ``settle`` or ``give_back``."""
        if self.down or queue in self.in_flight:
            return []
        batch, self.queues[queue] = self.queues[queue][:limit], self.queues[queue][limit:]
        self.in_flight[queue] = batch
        return batch

    def settle(self, queue: str) -> None:
        """Remove the messages in flight: their consumer acknowledged them."""
        self.in_flight.pop(queue, None)

    def give_back(self, queue: str) -> None:
        """Return the messages in flight to the queue, or park them."""
        for message in self.in_flight.pop(queue, ()):
            home = self.parked if message.returns >= self.delivery_limit else self.queues[queue]
            home.append(replace(message, returns=message.returns + 1))

    def bodies(self) -> list[bytes]:
        """Every body in the queues, queue by queue."""
        return [message.body for queue in self.queues.values() for message in queue]


@dataclass(slots=True)
class Message:
    """A record in a queue; each receive gives it a new ``receipt``. ``sent_at`` is unchanged by a move."""

    id: str
    record: RetryRecord
    sent_at: int = 0
    received: int = 0
    visible_at: int = 0
    receipt: str = ""


class MemoryQueue:
    """Messages in order of arrival, hidden by each receive. ``unavailable``: sends fail, and receives find nothing."""

    def __init__(self, clock: Clock) -> None:
        self.messages: list[Message] = []
        self.unavailable = False
        self._clock = clock
        self._serial = count(1)

    def put(self, message: Message) -> None:
        """Store ``message``, visible at once."""
        message.visible_at, message.receipt = 0, ""
        self.messages.append(message)

    def send(self, record: RetryRecord) -> Message:
        """Store ``record`` as a new message, visible after its delay."""
        self.put(message := Message(f"message-{next(self._serial)}", record, self._clock.now()))
        message.visible_at = self._clock.now() + record.delay * SECOND if record.delay else 0
        return message

    def visible(self) -> list[Message]:
        """The messages that a receive may return now."""
        now = self._clock.now()
        return [] if self.unavailable else [message for message in self.messages if message.visible_at <= now]

    def hidden(self) -> int:
        """The number of messages that were received and are not visible yet."""
        now = self._clock.now()
        return sum(message.received > 0 and message.visible_at > now for message in self.messages)

    def receive(self, limit: int, seconds: int) -> list[Message]:
        """At most ``limit`` visible messages, hidden for ``seconds``."""
        received = self.visible()[:limit]
        for message in received:
            message.received += 1
            message.receipt = f"{message.id}/{next(self._serial)}"
            message.visible_at = self._clock.now() + seconds * SECOND
        return received

    def hide(self, receipt: str, seconds: int) -> None:
        """Make the message of ``receipt`` visible after ``seconds``; an outdated receipt changes nothing."""
        for message in self._of(receipt):
            message.visible_at = self._clock.now() + seconds * SECOND

    def delete(self, receipt: str) -> None:
        """Delete the message of ``receipt``; an outdated receipt changes nothing."""
        for message in self._of(receipt):
            self.messages.remove(message)

    def _of(self, receipt: str) -> list[Message]:
        if self.unavailable:
            return []
        return [message for message in self.messages if receipt and message.receipt == receipt]


class MemoryRetryLane:
    """``queue`` has the sent records, ``dead`` those received ``receives`` times. ``down``: both are unavailable."""

    def __init__(self, clock: Clock | None = None, visibility: int = 360, receives: int = 5) -> None:
        clock = clock or FixedClock(0)
        self.queue = MemoryQueue(clock)
        self.dead = MemoryQueue(clock)
        self.postponed: list[tuple[str, int]] = []
        self.visibility = visibility
        self._receives = receives
        self._refusals = 0

    @property
    def records(self) -> list[RetryRecord]:
        """Everything in the queue, hidden or not."""
        return [message.record for message in self.queue.messages]

    @property
    def down(self) -> bool:
        """Whether SQS is unavailable."""
        return self.queue.unavailable

    @down.setter
    def down(self, down: bool) -> None:
        self.queue.unavailable = self.dead.unavailable = down

    def refuse_next(self, count: int) -> None:
        """Refuse the next ``count`` records."""
        self._refusals += count

    def recover(self) -> None:
        """End the outage and cancel the planned refusals."""
        self.down = False
        self._refusals = 0

    def send(self, records: Sequence[RetryRecord]) -> list[RetryLaneUnavailable | None]:
        return [self._send(record) for record in records]

    def _send(self, record: RetryRecord) -> RetryLaneUnavailable | None:
        if self._refusals:
            self._refusals -= 1
            return RetryLaneUnavailable("the retry queue refused it")
        if self.down:
            return RetryLaneUnavailable("the retry queue is unavailable")
        self.queue.send(record)
        return None

    def receive(self, limit: int = 10) -> list[Message]:
        """The next records for the function. Records received too often go to the dead lane instead."""
        for message in self.queue.visible():
            if message.received >= self._receives:
                self.queue.messages.remove(message)
                self.dead.put(message)
        return self.queue.receive(limit, self.visibility)

    def postpone(self, pauses: Mapping[str, int]) -> None:
        self.postponed.extend(pauses.items())
        for receipt, seconds in pauses.items():
            self.queue.hide(receipt, seconds)

    def delete(self, receipts: Sequence[str]) -> None:
        for receipt in receipts:
            self.queue.delete(receipt)


class MemoryDeadLane:
    """A :class:`~headrace.queues.ports.DeadLane` on a :class:`MemoryRetryLane`'s ``dead``.

    ``undeletable``: deletes have no effect, as when the process is killed before them.
    """

    def __init__(self, dead: MemoryQueue) -> None:
        self.queue = dead
        self.undeletable = False

    def receive(self, hold: int) -> list[ReceivedLetter]:
        if self.queue.unavailable:
            raise DeadLaneUnavailable("the dead-letter queue is unavailable")
        held = []
        for message in self.queue.receive(RECEIVE_LIMIT, hold):
            body, attributes = to_text(message.record)
            held.append(
                ReceivedLetter(message.id, message.receipt, body, attributes, message.sent_at, message.received)
            )
        return held

    def others_hold(self, count: int) -> bool:
        return self.queue.hidden() > count

    def release(self, held: Sequence[ReceivedLetter]) -> None:
        for each in held:
            self.queue.hide(each.receipt, 0)

    def delete(self, held: Sequence[ReceivedLetter]) -> list[bool]:
        if self.undeletable or self.queue.unavailable:
            return [False] * len(held)
        for each in held:
            self.queue.delete(each.receipt)
        return [True] * len(held)


class MemoryLivePublisher:
    """A :class:`LivePublisher` in memory, for tests: ``sent`` are the messages. ``down``: sends fail."""

    def __init__(self) -> None:
        self.sent: list[Outgoing] = []
        self.down = False

    def publish(self, messages: Sequence[Outgoing]) -> BrokerUnavailable | None:
        if self.down:
            return ConnectionLost("the broker is unavailable")
        self.sent.extend(messages)
        return None
