"""What a publisher promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from headrace.core.errors import BrokerUnavailable

Outcome = BrokerUnavailable | None
"""``None``: confirmed by the broker as persistent and routed to a queue. Else what went wrong."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message: ``routing_key`` is the queue's name, ``body`` at most 256 KB."""

    routing_key: str
    body: bytes
    correlation_id: str


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """A queue's ``ready`` messages (delivered and unsettled ones are not among them), and its ``consumers``."""

    ready: int
    consumers: int


class Publisher(Protocol):
    """Publishes to the exchange ``headrace.events``."""

    def publish(self, messages: Sequence[Outgoing]) -> list[Outcome]:
        """One outcome per message, in order, within the publish budget.

        Never raises for what the broker or the network does. A message with an outcome other than ``None`` may be
        in its queue all the same (its confirm was lost): whoever hands it on must keep its id.
        """
        ...

    def close(self) -> None:
        """Let the connection go; the next publish opens another."""
        ...
