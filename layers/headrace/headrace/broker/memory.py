"""A broker in memory, for tests: routes and confirms as RabbitMQ does, and fails on demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.broker.base import Outcome, Outgoing
from headrace.errors import BrokerUnavailable, ConnectionLost, PublishReturned, PublishUnconfirmed


class MemoryPublisher:
    """Queues as lists. ``down``: nothing is kept. ``silent``: kept, but never confirmed."""

    def __init__(self, queues: Iterable[str] = ()) -> None:
        self.queues: dict[str, list[Outgoing]] = {queue: [] for queue in queues}
        self.down = False
        self.silent = False
        self._failures: list[BrokerUnavailable] = []

    def fail_next(self, *errors: BrokerUnavailable) -> None:
        """Give these outcomes to the next messages, one each, and keep none of them."""
        self._failures.extend(errors)

    def publish(self, messages: Sequence[Outgoing]) -> list[Outcome]:
        """One outcome per message, in order."""
        return [self._publish(message) for message in messages]

    def _publish(self, message: Outgoing) -> Outcome:
        if self._failures:
            return self._failures.pop(0)
        if self.down:
            return ConnectionLost("the broker is away")
        queue = self.queues.get(message.routing_key)
        if queue is None:
            return PublishReturned("the broker routed it to no queue")
        queue.append(message)
        return PublishUnconfirmed("the broker did not answer in time") if self.silent else None

    def bodies(self) -> list[bytes]:
        """Every body kept, queue by queue."""
        return [message.body for queue in self.queues.values() for message in queue]

    def close(self) -> None:
        """Nothing to let go."""
