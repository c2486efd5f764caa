"""Builds what the functions that receive events need, once per environment and on first use."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from headrace.accept import Acceptor
from headrace.breaker_board import BreakerBoard
from headrace.broker.guarded import GuardedPublisher
from headrace.broker.rabbitmq import RabbitPublisher
from headrace.cache import RedisCache
from headrace.frames import Frames
from headrace.gates import Gate
from headrace.http_writes import HttpWrites
from headrace.ingest.rate_limiter import UNLIMITED, Admission, RateLimiter
from headrace.ingest.shared_counts import SharedCounts
from headrace.retry_lane.sqs import SqsRetryLane
from headrace.rights import gate
from headrace.secrets import ManagedSecrets
from headrace.settings import CacheSettings, EnvironmentSettings, RateSettings, WriteSettings
from headrace.streams import stream_gates
from headrace.streams.chat import CHAT
from headrace.times import SystemClock


@functools.cache
def frames() -> Frames:
    """Answers WebSocket frames."""
    return Frames(acceptor({CHAT.name: gate()}, throttle()), SystemClock(), WriteSettings.read().scope_prefix)


@functools.cache
def http_writes() -> HttpWrites:
    """Answers HTTP writes."""
    accepting = acceptor({CHAT.name: gate(), **stream_gates()}, throttle())
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
    board = BreakerBoard(EnvironmentSettings.read())
    publisher = GuardedPublisher(RabbitPublisher(settings, ManagedSecrets()), settings, board)
    return Acceptor(
        publisher, SqsRetryLane(settings.retry_queue_url), settings.persist_queues, SystemClock(), gates, throttle
    )
