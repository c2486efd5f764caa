"""A retry lane in memory, for tests: keeps, hides and moves records as SQS does, and fails on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from headrace.core.errors import RetryLaneUnavailable
from headrace.core.times import SECOND, Clock, FixedClock
from headrace.retry_lane.base import Handover, Postponement


@dataclass(slots=True)
class Message:
    """A record in a queue; each receive gives it another ``receipt``. ``sent_at`` is when it was sent, not moved."""

    id: str
    record: Handover
    sent_at: int = 0
    received: int = 0
    visible_at: int = 0
    receipt: str = ""


class MemoryQueue:
    """Messages in order of arrival, hidden for a while by each receive. ``away``: nothing is taken or given."""

    def __init__(self, clock: Clock) -> None:
        self.messages: list[Message] = []
        self.away = False
        self._clock = clock
        self._serial = count(1)

    def put(self, message: Message) -> None:
        """Keep ``message``, visible at once."""
        message.visible_at, message.receipt = 0, ""
        self.messages.append(message)

    def send(self, record: Handover) -> Message:
        """Keep ``record`` as a new message."""
        self.put(message := Message(f"message-{next(self._serial)}", record, self._clock.now()))
        return message

    def visible(self) -> list[Message]:
        """What a receive may give now."""
        now = self._clock.now()
        return [] if self.away else [message for message in self.messages if message.visible_at <= now]

    def receive(self, limit: int, seconds: int) -> list[Message]:
        """At most ``limit`` visible messages, hidden for ``seconds``."""
        received = self.visible()[:limit]
        for message in received:
            message.received += 1
            message.receipt = f"{message.id}/{next(self._serial)}"
            message.visible_at = self._clock.now() + seconds * SECOND
        return received

    def hide(self, receipt: str, seconds: int) -> None:
        """Show the message of ``receipt`` again after ``seconds``; an outdated one changes nothing."""
        for message in self._of(receipt):
            message.visible_at = self._clock.now() + seconds * SECOND

    def delete(self, receipt: str) -> None:
        """Forget the message of ``receipt``; an outdated one changes nothing."""
        for message in self._of(receipt):
            self.messages.remove(message)

    def _of(self, receipt: str) -> list[Message]:
        return [] if self.away else [message for message in self.messages if receipt and message.receipt == receipt]


class MemoryRetryLane:
    """``queue`` holds what was taken, ``dead`` what was received ``receives`` times. ``down``: both are away."""

    def __init__(self, clock: Clock | None = None, visibility: int = 360, receives: int = 5) -> None:
        clock = clock or FixedClock(0)
        self.queue = MemoryQueue(clock)
        self.dead = MemoryQueue(clock)
        self.postponed: list[Postponement] = []
        self.visibility = visibility
        self._receives = receives
        self._refusals = 0

    @property
    def records(self) -> list[Handover]:
        """Everything in the queue, hidden or not."""
        return [message.record for message in self.queue.messages]

    @property
    def down(self) -> bool:
        """Whether SQS is away."""
        return self.queue.away

    @down.setter
    def down(self, down: bool) -> None:
        self.queue.away = self.dead.away = down

    def refuse_next(self, count: int) -> None:
        """Refuse the next ``count`` records."""
        self._refusals += count

    def recover(self) -> None:
        """Work again, and forget the refusals to come."""
        self.down = False
        self._refusals = 0

    def send(self, records: Sequence[Handover]) -> list[RetryLaneUnavailable | None]:
        """One outcome per record, in order."""
        return [self._send(record) for record in records]

    def _send(self, record: Handover) -> RetryLaneUnavailable | None:
        if self._refusals:
            self._refusals -= 1
            return RetryLaneUnavailable("the retry queue refused it")
        if self.down:
            return RetryLaneUnavailable("the retry queue is away")
        self.queue.send(record)
        return None

    def receive(self, limit: int = 10) -> list[Message]:
        """The next records for the function; what was received too often goes to the dead lane instead."""
        for message in self.queue.visible():
            if message.received >= self._receives:
                self.queue.messages.remove(message)
                self.dead.put(message)
        return self.queue.receive(limit, self.visibility)

    def postpone(self, postponements: Sequence[Postponement]) -> None:
        """Change when records are seen again; also remembered."""
        self.postponed.extend(postponements)
        for each in postponements:
            self.queue.hide(each.receipt, each.seconds)

    def delete(self, receipts: Sequence[str]) -> None:
        """Forget received records."""
        for receipt in receipts:
            self.queue.delete(receipt)
