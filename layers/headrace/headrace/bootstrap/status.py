"""Builds the service of read_status."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor

from headrace.bootstrap.queues import probe_reader
from headrace.bootstrap.shared import clock, impatient, separate_cache
from headrace.operations.breaker_status import read_breaker_status
from headrace.operations.status import Status, StatusProbes
from headrace.queues import names
from headrace.queues.rabbitmq.topology import queue_depths
from headrace.queues.sqs.retry_queue import queue_counts
from headrace.runtime.secrets import Secrets
from headrace.runtime.settings import BrokerSettings, DeadLaneSettings, RetryLaneSettings

CONNECT_SECONDS = 1.0
"""The timeout of a connection to the broker; the whole response has more time."""


@functools.cache
def status() -> Status:
    """The status of every dependency; no call takes longer than a second."""
    settings = BrokerSettings.read()
    retry_url, dead_url = RetryLaneSettings.read().retry_queue_url, DeadLaneSettings.read().dead_letter_queue_url
    secrets = Secrets(lambda: impatient("secretsmanager"))
    sqs = impatient("sqs")
    queues = names.persist_queues(settings.persist_queues)
    probes = probe_reader()
    readers = ThreadPoolExecutor(len(queues), "probes")
    return Status(
        StatusProbes(
            queues=lambda: queue_depths(settings, secrets, [*queues, names.PARKED_QUEUE], CONNECT_SECONDS),
            retry=lambda: queue_counts(sqs, retry_url),
            dead=lambda: queue_counts(sqs, dead_url),
            breakers=lambda: read_breaker_status(separate_cache, clock()),
            probes=lambda: dict(zip(queues, readers.map(probes.newest, queues), strict=True)),
        ),
        clock(),
    )
