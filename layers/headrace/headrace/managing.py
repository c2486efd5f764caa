"""Builds what manage_dead_letters needs, once per environment and on first use."""

from __future__ import annotations

import functools

from headrace.core.times import SystemClock
from headrace.operations.dead_letter_routes import DeadLetterRoutes
from headrace.operations.dead_letters import DeadLetters
from headrace.queues.sqs.dead_letter_queue import SqsDeadLane
from headrace.queues.sqs.retry_queue import SqsRetryLane
from headrace.runtime.settings import DeadLetterSettings, table_settings
from headrace.streams.registry import STREAMS


@functools.cache
def dead_routes() -> DeadLetterRoutes:
    """Answers requests about dead letters."""
    settings = DeadLetterSettings.read()
    clock = SystemClock()
    letters = DeadLetters(
        SqsDeadLane(settings.dead_letter_queue_url),
        SqsRetryLane(settings.retry_queue_url),
        {name: table_settings(each) for name, each in STREAMS.items()},
        clock,
    )
    return DeadLetterRoutes(letters, clock, settings.scope_prefix)
