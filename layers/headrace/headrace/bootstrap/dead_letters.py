"""Builds the service of manage_dead_letters, which needs no broker."""

from __future__ import annotations

import functools

from headrace.bootstrap.shared import clock
from headrace.operations.dead_letters import DeadLetters
from headrace.queues.sqs.dead_letter_queue import SqsDeadLane
from headrace.queues.sqs.retry_queue import SqsRetryLane
from headrace.runtime.settings import DeadLaneSettings, RetryLaneSettings, table_settings
from headrace.streams.registry import STREAMS


@functools.cache
def dead_letters() -> DeadLetters:
    """The dead letters of every stream."""
    return DeadLetters(
        SqsDeadLane(DeadLaneSettings.read().dead_letter_queue_url),
        SqsRetryLane(RetryLaneSettings.read().retry_queue_url),
        {name: table_settings(stream) for name, stream in STREAMS.items()},
        clock(),
    )
