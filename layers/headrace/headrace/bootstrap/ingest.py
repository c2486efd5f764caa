"""The path of events from clients to the broker."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headrace.bootstrap.shared import breaker_status, cache, clock, secrets
from headrace.ingest.acceptor import Acceptor
from headrace.ingest.rate_limiter import UNLIMITED, Admission
from headrace.queues.breaker import GuardedPublisher
from headrace.queues.rabbitmq.publisher import RabbitPublisher
from headrace.queues.sqs.retry_queue import SqsRetryLane
from headrace.runtime.settings import RateSettings, WriteSettings

if TYPE_CHECKING:
    from headrace.ingest.gate import Gate


@functools.cache
def frame_acceptor() -> Acceptor:
    """Accepts the events of WebSocket frames, which are messages."""
    from headrace.bootstrap.chat import room_gate

    return acceptor({"chat": room_gate()}, rate_limiter())


@functools.cache
def http_acceptor() -> Acceptor:
    """Accepts the events of HTTP requests, of every stream."""
    from headrace.bootstrap.chat import room_gate
    from headrace.bootstrap.ski import ride_gate

    return acceptor({"chat": room_gate(), "ski": ride_gate()}, rate_limiter())


@functools.cache
def rate_limiter() -> Admission:
    """Holds senders to the rates that the settings name."""
    settings = RateSettings.read()
    if not settings.event_rate and not settings.trusted_event_rate:
        return UNLIMITED
    from headrace.ingest.rate_limiter import RateLimiter
    from headrace.ingest.shared_counts import SharedCounts

    return RateLimiter(settings, SharedCounts(cache()))


def acceptor(gates: Mapping[str, Gate], rate_limiter: Admission = UNLIMITED) -> Acceptor:
    """Accepts events; ``gates`` by stream name refuse what its sender may not write."""
    settings = WriteSettings.read()
    publisher = GuardedPublisher(RabbitPublisher(settings, secrets()), settings, breaker_status())
    retry_queue = SqsRetryLane(settings.retry_queue_url)
    return Acceptor(publisher, retry_queue, settings.persist_queues, clock(), gates, rate_limiter)
