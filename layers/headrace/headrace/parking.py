"""Builds what return_parked needs, once per environment and on first use."""

from __future__ import annotations

import functools

from headrace.core.times import SystemClock
from headrace.operations.parked_routes import ParkedRoutes
from headrace.queues.rabbitmq.parked import ParkingQueue
from headrace.queues.sqs.retry_queue import SqsRetryLane
from headrace.runtime.secrets import ManagedSecrets
from headrace.runtime.settings import ParkedSettings


@functools.cache
def parked_routes() -> ParkedRoutes:
    """Answers requests about parked messages."""
    settings = ParkedSettings.read()
    parked = ParkingQueue(settings, ManagedSecrets(), SqsRetryLane(settings.retry_queue_url))
    return ParkedRoutes(parked, SystemClock(), settings.scope_prefix)
