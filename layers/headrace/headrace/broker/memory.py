"""A broker in memory, for tests: routes, confirms and delivers as RabbitMQ does, and fails on demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from headrace.broker.base import Outcome, Outgoing
from headrace.core.errors import BrokerUnavailable, ConnectionLost, PublishReturned, PublishUnconfirmed


@dataclass(frozen=True, slots=True)
class Kept(Outgoing):
    """A message in a queue, and how often it came back."""

    returns: int = 0


class MemoryPublisher:
    """Queues as lists. ``down``: nothing is kept. ``silent``: kept, but never confirmed.

    ``deliver`` plays the mapping, which has one batch of a queue in flight. What comes back more often than
    ``delivery_limit`` is in ``parked``.
    """

    def __init__(self, queues: Iterable[str] = (), delivery_limit: int = 20) -> None:
        self.queues: dict[str, list[Kept]] = {queue: [] for queue in queues}
        self.in_flight: dict[str, list[Kept]] = {}
        self.parked: list[Kept] = []
        self.delivery_limit = delivery_limit
        self.down = False
        self.silent = False
        self._failures: list[tuple[BrokerUnavailable, bool]] = []

    def fail_next(self, *errors: BrokerUnavailable, kept: bool = False) -> None:
        """Give these outcomes to the next messages, one each; ``kept`` says whether they are in their queue."""
        self._failures.extend((error, kept) for error in errors)

    def recover(self) -> None:
        """Work again, and forget the failures to come."""
        self.down = self.silent = False
        self._failures.clear()

    def publish(self, messages: Sequence[Outgoing]) -> list[Outcome]:
        """One outcome per message, in order."""
        return [self._publish(message) for message in messages]

    def _publish(self, message: Outgoing) -> Outcome:
        outcome, kept = self._failures.pop(0) if self._failures else (None, True)
        if not kept:
            return outcome
        if self.down:
            return ConnectionLost("the broker is away")
        if message.routing_key not in self.queues:
            return PublishReturned("the broker routed it to no queue")
        self.keep(message)
        return outcome or (PublishUnconfirmed("the broker did not answer in time") if self.silent else None)

    def keep(self, message: Outgoing) -> None:
        """Put ``message`` into its queue."""
        kept = Kept(message.routing_key, message.body, message.correlation_id)
        self.queues[message.routing_key].append(kept)

    def deliver(self, queue: str, limit: int) -> list[Kept]:
        """The next messages of ``queue``, in flight until they are settled or given back."""
        if self.down or queue in self.in_flight:
            return []
        batch, self.queues[queue] = self.queues[queue][:limit], self.queues[queue][limit:]
        self.in_flight[queue] = batch
        return batch

    def settle(self, queue: str) -> None:
        """Forget what is in flight: its consumer acknowledged it."""
        self.in_flight.pop(queue, None)

    def give_back(self, queue: str) -> None:
        """Put back what is in flight, or park it."""
        for message in self.in_flight.pop(queue, ()):
            home = self.parked if message.returns >= self.delivery_limit else self.queues[queue]
            home.append(replace(message, returns=message.returns + 1))

    def bodies(self) -> list[bytes]:
        """Every body in the queues, queue by queue."""
        return [message.body for queue in self.queues.values() for message in queue]

    def close(self) -> None:
        """Nothing to let go."""
