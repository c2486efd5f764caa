"""The dead lane of a retry lane in memory, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.errors import DeadLaneUnavailable
from headrace.dead_lane.base import RECEIVE_LIMIT, Held
from headrace.retry_lane.base import to_text
from headrace.retry_lane.memory import MemoryQueue


class MemoryDeadLane:
    """A :class:`~headrace.dead_lane.base.DeadLane` on a :class:`MemoryRetryLane`'s ``dead``.

    ``undeletable``: nothing can be taken away, as when the process is killed before it does.
    """

    def __init__(self, dead: MemoryQueue) -> None:
        self.queue = dead
        self.undeletable = False

    def receive(self, hold: int) -> list[Held]:
        """At most ten records, hidden for ``hold`` seconds."""
        if self.queue.away:
            raise DeadLaneUnavailable("the dead-letter queue is away")
        held = []
        for message in self.queue.receive(RECEIVE_LIMIT, hold):
            body, attributes = to_text(message.record)
            held.append(Held(message.id, message.receipt, body, attributes, message.sent_at, message.received))
        return held

    def release(self, held: Sequence[Held]) -> None:
        """Show them again at once."""
        for each in held:
            self.queue.hide(each.receipt, 0)

    def delete(self, held: Sequence[Held]) -> list[bool]:
        """Take them away for good."""
        if self.undeletable or self.queue.away:
            return [False] * len(held)
        for each in held:
            self.queue.delete(each.receipt)
        return [True] * len(held)
