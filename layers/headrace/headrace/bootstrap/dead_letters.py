"""Builds the service of manage_dead_letters, which needs no broker."""

from __future__ import annotations

import functools

from headrace.bootstrap.shared import clock, retry_lane
from headrace.operations.dead_letters import DeadLetters
from headrace.queues.sqs.dead_letter_queue import TIMEOUT, SqsDeadLane
from headrace.runtime.aws import client
from headrace.runtime.settings import DeadLaneSettings, table_settings
from headrace.streams.registry import STREAMS


@functools.cache
def dead_letters() -> DeadLetters:
    """The dead letters of every stream."""
    return DeadLetters(
        SqsDeadLane(DeadLaneSettings.read().dead_letter_queue_url, client("sqs", timeout=TIMEOUT)),
        retry_lane(),
        {name: table_settings(stream) for name, stream in STREAMS.items()},
        clock(),
    )
