"""Builds what the functions that receive events need, once per environment and on first use."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from headrace.bootstrap.ski import ride_gate
from headrace.core.times import SystemClock
from headrace.ingest.acceptor import Acceptor
from headrace.ingest.gate import Gate
from headrace.ingest.rate_limiter import UNLIMITED, Admission, RateLimiter
from headrace.ingest.routes import HttpWrites
from headrace.ingest.shared_counts import SharedCounts
from headrace.operations.breaker_status import BreakerStatus
from headrace.queues.breaker import GuardedPublisher
from headrace.queues.rabbitmq.publisher import RabbitPublisher
from headrace.queues.sqs.retry_queue import SqsRetryLane
from headrace.rights import gate
from headrace.runtime.secrets import ManagedSecrets
from headrace.runtime.settings import CacheSettings, EnvironmentSettings, RateSettings, WriteSettings
from headrace.storage.redis import RedisCache
from headrace.streams.chat.frames import Frames
from headrace.streams.chat.stream import CHAT
from headrace.streams.ski.stream import SKI


@functools.cache
def frames() -> Frames:
    """Answers WebSocket frames."""
    return Frames(acceptor({CHAT.name: gate()}, throttle()), SystemClock(), WriteSettings.read().scope_prefix)


@functools.cache
def http_writes() -> HttpWrites:
    """Answers HTTP writes."""
    accepting = acceptor({CHAT.name: gate(), SKI.name: ride_gate()}, throttle())
    return HttpWrites(accepting, WriteSettings.read().scope_prefix)


def throttle() -> Admission:
    """Holds senders to the rates that the settings name."""
    settings = RateSettings.read()
    if not settings.event_rate and not settings.trusted_event_rate:
        return UNLIMITED
    return RateLimiter(settings, SharedCounts(RedisCache.of(CacheSettings.read())))


def acceptor(gates: Mapping[str, Gate], throttle: Admission = UNLIMITED) -> Acceptor:
    """Accepts events, those of a stream in ``gates`` only with a right, and as many as ``throttle`` lets pass."""
    settings = WriteSettings.read()
    board = BreakerStatus(EnvironmentSettings.read())
    publisher = GuardedPublisher(RabbitPublisher(settings, ManagedSecrets()), settings, board)
    return Acceptor(
        publisher, SqsRetryLane(settings.retry_queue_url), settings.persist_queues, SystemClock(), gates, throttle
    )
