"""Ports of the queues: publish to the broker, and hold records for a retry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    """A queue's ``ready`` messages, without those that are being delivered, and its ``consumers``."""

    ready: int
    consumers: int


class Publisher(Protocol):
    """Publishes to the exchange ``headrace.events``."""

    @property
    def confirm_seconds(self) -> float:
        """For how long its publishes have waited for the broker's confirms, in total."""

    def publish(self, messages: Sequence[Outgoing]) -> list[Outcome]:
        """One outcome per message, in order, within the publish budget.

        Never raises for what the broker or the network does. A message with an outcome other than ``None`` may still
        be in its queue, if its confirm was lost: a caller that sends it elsewhere must keep its id.
        """


@dataclass(frozen=True, slots=True)
class RetryRecord:
    """A record for the retry lane: any bytes, why it is there, and the seconds until its delivery (at most 900)."""

    body: bytes
    attributes: Mapping[str, str] = field(default_factory=dict)
    delay: int = 0


class LivePublisher(Protocol):
    """Publishes to the exchange ``headrace.live``."""

    def publish(self, messages: Sequence[Outgoing]) -> BrokerUnavailable | None:
        """``None`` when ``messages`` are sent; whether they arrive is unknown. Never raises."""
